"""The gRPC listeners of a plane: one to join, one for the link.

The join listener asks for no client certificate; the link listener takes the peer's
identity from its certificate and from nothing else.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Final

import asyncpg
import grpc
import grpc.aio
from cryptography import x509

from penstock.kernel import log
from penstock.kernel.authority import Authority
from penstock.kernel.errors import Conflict, Forbidden, Invalid, Problem, Unauthenticated
from penstock_contracts import identity, link, rpc
from penstock_contracts.identity import Peer, PrivateKey
from penstock_contracts.ids import InvalidId
from penstock_contracts.wire_pb2 import Enrolment

logger = log.get(__name__)

END_S_MAX: Final = 1.0
CANCELLED_S_MAX: Final = 2.0  # to say that a peer left, after that was cancelled
REPLACED: Final = (grpc.StatusCode.ABORTED, "another connection took over")
ENDING: Final = (grpc.StatusCode.UNAVAILABLE, "this process is being restarted; dial again")
Serve = Callable[[Peer, rpc.ServerStream, asyncio.Timeout], Awaitable[None]]
"""Serves one link. The timeout is the peer's certificate: it has expired if that ran out."""
STATUS: Final[dict[type[Problem], grpc.StatusCode]] = {
    Unauthenticated: grpc.StatusCode.UNAUTHENTICATED,
    Forbidden: grpc.StatusCode.PERMISSION_DENIED,
    Invalid: grpc.StatusCode.INVALID_ARGUMENT,
    Conflict: grpc.StatusCode.ALREADY_EXISTS,
}


class Certificate:
    """A listener's own certificate, made anew by `issue` when half its life is over."""

    def __init__(self, key_pem: bytes, issue: Callable[[], str], root_pem: str) -> None:
        self._key_pem = key_pem
        self._issue = issue
        self._root_pem = root_pem
        self._first = self._renew()

    def credentials(self, *, mutual: bool) -> grpc.ServerCredentials:
        return grpc.dynamic_ssl_server_credentials(
            self._first,
            self._renew_if_due,  # pyright: ignore[reportArgumentType] # None is "no change"
            require_client_authentication=mutual,
        )

    def _renew_if_due(self) -> grpc.ServerCertificateConfiguration | None:
        """Asked at each handshake. Nothing, while nothing changed: replacing the certificate
        under handshakes that are under way can crash the gRPC library."""
        return self._renew() if datetime.now(UTC) >= self._due else None

    def _renew(self) -> grpc.ServerCertificateConfiguration:
        chain = self._issue()
        leaf = x509.load_pem_x509_certificate(chain.encode())
        life = leaf.not_valid_after_utc - leaf.not_valid_before_utc
        self._due = leaf.not_valid_after_utc - life / 2
        return grpc.ssl_server_certificate_configuration(
            [(self._key_pem, chain.encode())], self._root_pem.encode()
        )


@asynccontextmanager
async def listen(
    address: str, service: grpc.GenericRpcHandler, credentials: grpc.ServerCredentials
) -> AsyncGenerator[int, None]:
    """Serve until the block ends; yields the port."""
    server = grpc.aio.server(options=rpc.OPTIONS)
    server.add_generic_rpc_handlers((service,))
    try:
        port = server.add_secure_port(address, credentials)
    except RuntimeError as error:
        raise OSError(f"cannot listen on {address}: is the port in use?") from error
    await server.start()
    try:
        yield port
    finally:
        await server.stop(grace=0.2)


@asynccontextmanager
async def listen_both(
    join: tuple[str, grpc.GenericRpcHandler],
    link: tuple[str, "Links"],
    issue: Callable[[PrivateKey], str],
    root_pem: str,
) -> AsyncGenerator[None, None]:
    """A plane's two listeners (address and service of each), with certificates by `issue`."""
    key = PrivateKey.generate()
    links = link[1]
    linking = (link[0], rpc.link_service(links.connect))
    async with AsyncExitStack() as stack:
        for (address, service), mutual in ((join, False), (linking, True)):
            certificate = Certificate(key.pem(), partial(issue, key), root_pem)
            credentials = certificate.credentials(mutual=mutual)
            await stack.enter_async_context(listen(address, service, credentials))
        stack.push_async_callback(links.end)
        yield


class Links:
    """Serves links; the newest connection of a peer replaces an older one."""

    def __init__(self, authority: Callable[[], Authority], kind: str, serve: Serve) -> None:
        self._authority = authority
        self._kind = kind
        self._serve = serve
        self._current: dict[str, asyncio.Task[None]] = {}
        self._ending = False

    async def end(self) -> None:
        """Close every link, with a reason: who dialled dials again."""
        self._ending = True
        current = list(self._current.values())
        for task in current:
            task.cancel()
        if current:
            await asyncio.wait(current, timeout=END_S_MAX)

    async def connect(self, stream: rpc.ServerStream, context: rpc.ServerContext) -> None:
        if self._ending:
            await context.abort(*ENDING)
        try:
            peer, expires_at = self._identify(context)
        except (Forbidden, ValueError, x509.ExtensionNotFound) as refusal:
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, str(refusal))
        if older := self._current.get(peer.id):
            older.cancel()
        life_s = (expires_at - datetime.now(UTC)).total_seconds()
        task = asyncio.create_task(self._run(peer, stream, life_s))
        self._current[peer.id] = task
        try:
            await task
        except asyncio.CancelledError:
            task.cancel()
            if not context.cancelled():
                await context.abort(*(ENDING if self._ending else REPLACED))
            raise
        except Exception as error:
            await context.abort(*_parting_words(peer, error))
        finally:
            if self._current.get(peer.id) is task:
                del self._current[peer.id]

    def disconnect(self, id: str) -> None:
        """Cut a peer off now, for example because it was revoked."""
        if task := self._current.get(id):
            task.cancel()

    def _identify(self, context: rpc.ServerContext) -> tuple[Peer, datetime]:
        pem = next(iter(context.auth_context().get("x509_pem_cert", ())), b"")
        certificate = x509.load_pem_x509_certificate(pem)
        if not self._authority().issued(certificate):
            raise Forbidden("the certificate was not issued by this plane")
        peer = identity.peer_of(certificate)
        if peer.kind != self._kind:
            raise Forbidden(f"a {peer.kind} cannot use this link; it is for a {self._kind}")
        return peer, certificate.not_valid_after_utc

    async def _run(self, peer: Peer, stream: rpc.ServerStream, life_s: float) -> None:
        """Until the connection breaks or the certificate runs out: then the peer dials again."""
        try:
            async with asyncio.timeout(life_s) as life:
                await self._serve(peer, stream, life)
        except TimeoutError:
            logger.info("certificate ran out", peer=peer.id)
        except (link.LinkClosed, grpc.aio.BaseError, ConnectionError) as error:
            logger.info("link closed", peer=peer.id, why=str(error))
        except link.PeerObjected as error:
            logger.warning("the peer ended its link", peer=peer.id, why=str(error))
        except link.ProtocolViolated as error:
            logger.warning("link protocol violated", peer=peer.id, why=str(error))
            raise


def _parting_words(peer: Peer, error: Exception) -> tuple[grpc.StatusCode, str]:
    """What a peer is told of why its link ends: nothing of our insides."""
    if isinstance(error, Problem | InvalidId):
        return grpc.StatusCode.PERMISSION_DENIED, str(error)
    if isinstance(error, link.ProtocolViolated):  # in our own words, so it may be told
        return grpc.StatusCode.FAILED_PRECONDITION, str(error)
    logger.error("link failed", peer=peer.id, exc_info=error)
    return grpc.StatusCode.UNAVAILABLE, "not now; dial again"


async def to_the_end(work: Awaitable[None]) -> None:
    """Await it, however often that is cancelled: a link breaks in several ways at once, and each of
    them cancels. Who is cancelled learns it afterwards, and soon."""
    doing = asyncio.ensure_future(work)
    cancelled = False
    while not doing.done():
        try:
            await asyncio.wait({doing}, timeout=CANCELLED_S_MAX if cancelled else None)
            if cancelled:
                doing.cancel()  # in vain if it is done
        except asyncio.CancelledError:
            cancelled = True
    doing.result()
    if cancelled:
        raise asyncio.CancelledError


async def answer(context: rpc.ServerContext, work: Awaitable[Enrolment]) -> Enrolment:
    """A join answer, or a refusal as a gRPC status."""
    try:
        return await work
    except Problem as refusal:
        code = STATUS.get(type(refusal), grpc.StatusCode.INTERNAL)
        await context.abort(code, refusal.detail)
    except asyncpg.DataError:  # text with NUL, for one
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the request cannot be understood")
    except Exception as error:  # whoever asks unproven is told nothing of our insides
        logger.error("join failed", exc_info=error)
        await context.abort(grpc.StatusCode.UNAVAILABLE, "not now; ask again")
