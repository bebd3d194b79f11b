"""Being a member of the plane above: join once, keep the certificate fresh, keep dialling.

A site is a member of central, a node is a member of its site; both use this file.
"""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import grpc
import grpc.aio
from cryptography import x509

from penstock_contracts import files, link, member_files, rpc
from penstock_contracts.identity import PrivateKey
from penstock_contracts.join import JoinToken
from penstock_contracts.wire_pb2 import Enrolment, EnrolRequest, RenewRequest, Signed

CALL_TIMEOUT_S: Final = 10.0
RETRY_S_MIN: Final = 0.1
RETRY_S_MAX: Final = 5.0
FAULT_RETRY_S_MAX: Final = 60.0  # what the protocol does not allow is not put right by haste
REFUSALS: Final = {
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.ALREADY_EXISTS,
}


class JoinRefused(Exception):
    """The plane above said no. Trying again with the same token cannot help."""


class RenewalRefused(Exception):
    """The answer to a renewal is not what was asked for. What was held stays."""


@dataclass(frozen=True)
class Membership:
    """What a member keeps on disk besides its key."""

    id: str
    certificate_pem: str
    ca_certificate_pem: str
    link_address: str
    join_address: str
    server_name: str  # whoever is dialled must have this name
    root_pem: str  # and chain to this
    order_key_hex: str  # signs what comes down the link
    ca_root_pem: str  # sites only: what their nodes trust

    def renew_at(self) -> datetime:
        """Halfway through the certificate's life: time enough to try again."""
        leaf = x509.load_pem_x509_certificate(self.certificate_pem.encode())
        life = leaf.not_valid_after_utc - leaf.not_valid_before_utc
        return leaf.not_valid_after_utc - life / 2


class Member:
    """A joined member: its key, its membership, its certificate authority if it has one."""

    def __init__(self, folder: Path, membership: Membership) -> None:
        self.folder = folder
        self.key = PrivateKey.load_or_generate(folder / "key.pem")
        self.membership = membership

    @property
    def id(self) -> str:
        return self.membership.id

    @property
    def order_key(self) -> bytes:
        return bytes.fromhex(self.membership.order_key_hex)

    @property
    def identity(self) -> tuple[bytes, bytes]:
        """Key and certificate chain, as gRPC wants them."""
        return self.key.pem(), self.membership.certificate_pem.encode()

    def ca_key(self) -> PrivateKey:
        return PrivateKey.load_or_generate(self.folder / "ca-key.pem")

    async def renew(self) -> None:
        """Get a fresh certificate by proving the enrolled key, expired or not.

        Whom this member trusts is settled when it joins, and no renewal changes it.
        """
        held = self.membership
        ca_csr = self.ca_key().csr(held.id) if held.ca_certificate_pem else b""
        request = RenewRequest(csr=self.key.csr(held.id), ca_csr=ca_csr)
        channel = rpc.channel(held.join_address, held.server_name, held.root_pem.encode())
        async with channel:
            enrolment = await _call(rpc.renew(channel, request, CALL_TIMEOUT_S))
        self.membership = self._renewed(enrolment)
        _save(self.folder, self.membership)

    def _renewed(self, enrolment: Enrolment) -> Membership:
        """What is held, with fresh certificates and the address to dial: nothing else."""
        held = self.membership
        if enrolment.id != held.id or enrolment.order_key != self.order_key:
            raise RenewalRefused(
                "the renewal is for another member, or names another key for orders;"
                " only joining anew changes either"
            )
        _refuse_other_key(enrolment.certificate_pem, self.key)
        if held.ca_certificate_pem:
            _refuse_other_key(enrolment.ca_certificate_pem, self.ca_key())
        return replace(
            held,
            certificate_pem=enrolment.certificate_pem,
            ca_certificate_pem=enrolment.ca_certificate_pem,
            link_address=enrolment.link_address,
        )

    async def keep_fresh(self, refused: Callable[[str], None] = lambda _why: None) -> None:
        """Ensures that the certificate never runs out while the plane above answers; `refused`
        hears why it will not be renewed. (Who is away is said by the link.)"""
        delay_s = RETRY_S_MIN
        while True:
            wait = self.membership.renew_at() - datetime.now(UTC)
            if wait > timedelta():
                await asyncio.sleep(wait.total_seconds())
            try:
                await self.renew()
            except (grpc.aio.AioRpcError, OSError, JoinRefused, RenewalRefused) as error:
                if isinstance(error, JoinRefused | RenewalRefused):
                    refused(str(error))
                await asyncio.sleep(delay_s * random.uniform(0.5, 1.5))  # noqa: S311 jitter
                delay_s = min(delay_s * 2, 60.0)
            else:
                delay_s = RETRY_S_MIN

    async def dial(
        self,
        outbox: link.Outbox,
        inbox: link.Inbox,
        changed: Callable[[bool, str], None] = lambda _up, _why: None,
    ) -> None:
        """Keep one link to the plane above, for ever; `changed` hears it come and go."""
        delay_s = RETRY_S_MIN
        while True:
            faulty = False
            held = self.membership
            channel = rpc.channel(
                held.link_address, held.server_name, held.root_pem.encode(), self.identity
            )
            started = asyncio.get_running_loop().time()
            try:
                async with channel:
                    await channel.channel_ready()
                    changed(True, "")
                    await link.run(rpc.ClientStream(channel), outbox, inbox)
            except Exception as error:  # whatever broke it, the answer is to dial again
                changed(False, _reason(error))
                faulty = _is_fault(error)
            if not faulty and asyncio.get_running_loop().time() - started > RETRY_S_MAX:
                delay_s = RETRY_S_MIN
            await asyncio.sleep(delay_s * random.uniform(0.5, 1.5))  # noqa: S311 jitter
            delay_s = min(delay_s * 2, FAULT_RETRY_S_MAX if faulty else RETRY_S_MAX)


def load(folder: Path) -> Member | None:
    """The member whose state is in `folder`, if it has joined; Damaged if that is not whole."""
    path = folder / "membership.json"
    if not path.exists():
        return None
    held = member_files.read(path, Membership)
    member_files.check_key(folder / "key.pem", held.certificate_pem, path)
    if held.ca_certificate_pem:
        member_files.check_key(folder / "ca-key.pem", held.ca_certificate_pem, path)
    return Member(folder, held)


async def join(
    folder: Path,
    token: JoinToken,
    name: str,
    *,
    with_ca: bool = False,
    evidence: Callable[[PrivateKey], Signed] | None = None,
    waits: Callable[[str], None] = lambda _what: None,
) -> Member:
    """Enrol with a token. Safe to repeat: the same key may use its token again.

    Waits for the plane above to answer, and for what it must wait for, which `waits` hears;
    raises JoinRefused if it says no. `evidence` has the new key sign what a node is made of that
    lost its old one.
    """
    key = PrivateKey.load_or_generate(folder / "key.pem")
    ca_key = PrivateKey.load_or_generate(folder / "ca-key.pem") if with_ca else None
    request = EnrolRequest(
        token_id=token.id,
        secret=token.secret,
        csr=key.csr(name),
        ca_csr=ca_key.csr(name) if ca_key else b"",
        name=name,
        evidence=evidence(key) if evidence else None,
    )
    channel = rpc.channel(token.address, token.server_name, token.ca_pem())
    async with channel:
        enrolment = await _enrol_patiently(channel, request, waits)
    held = _membership(enrolment, token)
    _save(folder, held)
    return Member(folder, held)


async def _enrol_patiently(
    channel: grpc.aio.Channel, request: EnrolRequest, waits: Callable[[str], None]
) -> Enrolment:
    delay_s = RETRY_S_MIN
    while True:
        with suppress(grpc.aio.AioRpcError):
            enrolment = await _call(rpc.enrol(channel, request, CALL_TIMEOUT_S))
            if not enrolment.waits_for:
                return enrolment
            waits(enrolment.waits_for)
        await asyncio.sleep(delay_s * random.uniform(0.5, 1.5))  # noqa: S311 jitter
        delay_s = min(delay_s * 2, RETRY_S_MAX)


async def _call(answer: Awaitable[Enrolment]) -> Enrolment:
    try:
        return await answer
    except grpc.aio.AioRpcError as error:
        if error.code() in REFUSALS:
            raise JoinRefused(error.details() or error.code().name) from error
        raise


def _refuse_other_key(pem: str, key: PrivateKey) -> None:
    try:
        certified = x509.load_pem_x509_certificate(pem.encode()).public_key()
    except ValueError as error:
        raise RenewalRefused("the renewed certificate cannot be read") from error
    if certified != key.key.public_key():
        raise RenewalRefused("the renewed certificate is for another key")


def _membership(enrolment: Enrolment, token: JoinToken) -> Membership:
    """Whom to trust comes from the token, and from nobody who answers."""
    if enrolment.order_key != token.order_key:
        raise JoinRefused("the token names another key for orders; ask for a new token")
    return Membership(
        id=enrolment.id,
        certificate_pem=enrolment.certificate_pem,
        ca_certificate_pem=enrolment.ca_certificate_pem,
        link_address=enrolment.link_address,
        join_address=token.address,
        server_name=token.server_name,
        root_pem=token.ca_pem().decode(),
        order_key_hex=token.order_key.hex(),
        ca_root_pem=enrolment.ca_root_pem,
    )


def _save(folder: Path, membership: Membership) -> None:
    files.write_private(folder / "membership.json", json.dumps(asdict(membership)).encode())


def _is_fault(error: Exception) -> bool:
    """Whether one of the two sides says that the other broke the protocol."""
    if isinstance(error, grpc.aio.AioRpcError):
        return error.code() is grpc.StatusCode.FAILED_PRECONDITION
    return isinstance(error, link.ProtocolViolated | link.PeerObjected)


def _reason(error: Exception) -> str:
    if isinstance(error, grpc.aio.AioRpcError):
        return f"{error.code().name.lower()}: {error.details()}"
    return str(error)
