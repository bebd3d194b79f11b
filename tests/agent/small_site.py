"""A site of a few lines: a throw-away CA, enrolment, and the link, over real mutual TLS."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

import grpc
import grpc.aio
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from penstock_contracts import identity, join, link, rpc
from penstock_contracts.identity import PrivateKey
from penstock_contracts.ids import NodeId, TokenId
from penstock_contracts.join import JoinToken
from penstock_contracts.wire_pb2 import (
    Enrolment,
    EnrolRequest,
    Entry,
    Frame,
    RenewRequest,
    Signed,
    Task,
    TaskResult,
)

SERVER_NAME = "site.test"


class Feed:
    """One node's orders and results, in memory: both ends of its link."""

    def __init__(self, node_id: str, public_key: bytes) -> None:
        self.node_id = node_id
        self.public_key = public_key
        self.results: list[TaskResult] = []
        self._orders: list[bytes] = []
        self._cursor = 0
        self._ordered = asyncio.Event()
        self._reported = asyncio.Event()

    def order(self, body: bytes) -> None:
        self._orders.append(body)
        self._ordered.set()

    async def result(self, task: Task, timeout_s: float = 15) -> TaskResult:
        async with asyncio.timeout(timeout_s):
            while True:
                for result in self.results:
                    if result.task_id == task.task_id:
                        return result
                self._reported.clear()
                await self._reported.wait()

    async def read(self, after: int, limit: int) -> Sequence[link.Outgoing]:
        bodies = self._orders[after : after + limit]
        return [link.Outgoing(seq, body) for seq, body in enumerate(bodies, after + 1)]

    async def wait(self, after: int) -> None:
        while len(self._orders) <= after:
            self._ordered.clear()
            await self._ordered.wait()

    async def acknowledge(self, seq: int) -> None: ...

    async def head(self) -> int:
        return len(self._orders)

    async def renumber(self, after: int) -> None:
        raise AssertionError("nothing was lost")

    async def cursor(self) -> int:
        return self._cursor

    async def apply(self, entries: Sequence[Entry]) -> int:
        for entry in link.accept(self._cursor, entries):
            payload = identity.verify(self.public_key, Signed.FromString(entry.body))
            self.results.append(TaskResult.FromString(payload))
            self._cursor = entry.seq
        self._reported.set()
        return self._cursor


class SmallSite:
    def __init__(self) -> None:
        self.task_key = PrivateKey.generate()
        self.feeds: dict[str, Feed] = {}
        self.joining = True
        self.forged: list[list[Frame]] = []  # what it says instead of the truth, link by link
        self.objections: list[str] = []  # what nodes answered to that
        self.objected = asyncio.Event()
        self._ca_key = PrivateKey.generate()
        self._ca = _certificate(self._ca_key, self._ca_key.key.public_key(), None, ca=True)
        self._key = PrivateKey.generate()
        names = x509.SubjectAlternativeName([x509.DNSName(SERVER_NAME)])
        self._own = _certificate(self._ca_key, self._key.key.public_key(), names)
        self._join_address = ""
        self._link_address = ""

    def token(self) -> str:
        der = self._ca.public_bytes(serialization.Encoding.DER)
        secret = join.new_secret()
        key = self.task_key.public()
        return JoinToken(TokenId.new(), secret, self._join_address, SERVER_NAME, der, key).encode()

    async def start(self) -> list[grpc.aio.Server]:
        pair = (self._key.pem(), _pem(self._own))
        joins, links = grpc.aio.server(options=rpc.OPTIONS), grpc.aio.server(options=rpc.OPTIONS)
        joins.add_generic_rpc_handlers([rpc.join_service(self._enrol, self._renew)])
        links.add_generic_rpc_handlers([rpc.link_service(self._connect)])
        one_way = grpc.ssl_server_credentials([pair])
        mutual = grpc.ssl_server_credentials([pair], _pem(self._ca), require_client_auth=True)
        self._join_address = f"127.0.0.1:{joins.add_secure_port('127.0.0.1:0', one_way)}"
        self._link_address = f"127.0.0.1:{links.add_secure_port('127.0.0.1:0', mutual)}"
        await joins.start()
        await links.start()
        return [joins, links]

    async def _enrol(self, request: EnrolRequest, context: rpc.ServerContext) -> Enrolment:
        if not self.joining:
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, "the token was used before")
        return self._admit(x509.load_der_x509_csr(request.csr), NodeId.new())

    async def _renew(self, request: RenewRequest, context: rpc.ServerContext) -> Enrolment:
        await context.abort(grpc.StatusCode.UNAVAILABLE, "nothing needs renewing in a test")
        raise AssertionError(request)

    def _admit(self, csr: x509.CertificateSigningRequest, node_id: str) -> Enrolment:
        key = csr.public_key()
        assert isinstance(key, ec.EllipticCurvePublicKey)
        uri = x509.UniformResourceIdentifier(identity.spiffe("node", node_id))
        certificate = _certificate(self._ca_key, key, x509.SubjectAlternativeName([uri]))
        self.feeds[node_id] = Feed(node_id, identity.public_der(key))
        return Enrolment(
            id=node_id,
            certificate_pem=_pem(certificate).decode(),
            link_address=self._link_address,
            order_key=self.task_key.public(),
        )

    async def _connect(self, stream: rpc.ServerStream, context: rpc.ServerContext) -> None:
        (pem,) = context.auth_context()["x509_pem_cert"]
        peer = identity.peer_of(x509.load_pem_x509_certificate(bytes(pem)))
        feed = self.feeds[peer.id]
        if self.forged:
            await self._forge(stream, self.forged.pop(0))
            return
        with suppress(link.LinkClosed):
            await link.run(stream, feed, feed)

    async def _forge(self, stream: rpc.ServerStream, frames: list[Frame]) -> None:
        for frame in frames:
            await stream.write(frame)
        while frame := await stream.read():
            if frame.HasField("fault"):
                self.objections.append(frame.fault.reason)
                self.objected.set()


@asynccontextmanager
async def small_site() -> AsyncGenerator[SmallSite]:
    site = SmallSite()
    servers = await site.start()
    try:
        yield site
    finally:
        for server in servers:
            await server.stop(None)


def _certificate(
    issuer: PrivateKey,
    key: ec.EllipticCurvePublicKey,
    names: x509.SubjectAlternativeName | None,
    *,
    ca: bool = False,
) -> x509.Certificate:
    now = datetime.now(UTC)
    issuer_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test CA")])
    subject = issuer_name if ca else x509.Name([])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer_name)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    if names is not None:
        builder = builder.add_extension(names, critical=True)
    return builder.sign(issuer.key, hashes.SHA256())


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
