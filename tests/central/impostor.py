"""Whoever has keys of another, and answers where central or a site is dialled."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import grpc
from cryptography import x509

from penstock.kernel import authority, listeners
from penstock.kernel.authority import Authority
from penstock_contracts import identity, link, rpc
from penstock_contracts.identity import PrivateKey
from penstock_contracts.membership import Member
from penstock_contracts.wire_pb2 import Enrolment, EnrolRequest, Entry, RenewRequest

CENTRAL: Final = identity.spiffe("central", "central")
Answer = Callable[[bytes], Enrolment]  # to a signing request


@dataclass
class Impostor:
    """Serves both listeners of a plane: answers every join, sends `orders`, keeps what it hears."""

    key: PrivateKey
    chain: str
    answer: Answer
    orders: Sequence[bytes] = ()
    heard: list[object] = field(default_factory=list[object])
    believed: asyncio.Event = field(default_factory=asyncio.Event)  # an order was acknowledged
    join_address: str = ""
    link_address: str = ""

    async def enrol(self, request: EnrolRequest, _context: rpc.ServerContext) -> Enrolment:
        self.heard.append(request)
        return self.answer(request.csr)

    async def renew(self, request: RenewRequest, _context: rpc.ServerContext) -> Enrolment:
        self.heard.append(request)
        return self.answer(request.csr)

    async def connect(self, stream: rpc.ServerStream, _context: rpc.ServerContext) -> None:
        self.heard.append(stream)
        try:
            await link.run(stream, self, self)
        except link.LinkClosed:
            return

    # Both feeds of its link.

    async def read(self, after: int, limit: int) -> Sequence[link.Outgoing]:
        bodies = self.orders[after : after + limit]
        return [link.Outgoing(seq, body) for seq, body in enumerate(bodies, after + 1)]

    async def wait(self, after: int) -> None:
        await asyncio.Event().wait()  # there is never more

    async def acknowledge(self, seq: int) -> None:
        self.believed.set()

    async def head(self) -> int:
        return len(self.orders)

    async def renumber(self, after: int) -> None:
        raise AssertionError("it sends as it likes")

    async def cursor(self) -> int:
        return 0

    async def apply(self, entries: Sequence[Entry]) -> int:
        self.heard.extend(entries)
        return entries[-1].seq


def authority_of(site: Member) -> Authority:
    """A site's own certificate authority: what a thief of its folder has."""
    pem = site.membership.ca_certificate_pem.encode()
    return Authority(site.ca_key(), x509.load_pem_x509_certificate(pem))


def false_answer(to: Member, by: Authority, csr: bytes) -> Enrolment:
    """A renewal with another key for orders and another address, certified by `by`."""
    return Enrolment(
        id=to.id,
        certificate_pem=authority.to_pem(by.issue(csr, identity.spiffe("site", to.id))) + by.pem,
        ca_certificate_pem=to.membership.ca_certificate_pem,
        link_address="127.0.0.1:1",
        order_key=PrivateKey.generate().public(),
    )


def vouched(by: Authority, uri: str, dns: str, answer: Answer) -> Impostor:
    """Somebody with a certificate for this server's name that `by` issued."""
    key = PrivateKey.generate()
    leaf = by.issue(key.csr(dns), uri, dns=dns)
    return Impostor(key, authority.to_pem(leaf) + by.pem, answer)


@asynccontextmanager
async def serving(impostor: Impostor) -> AsyncGenerator[Impostor, None]:
    """On two ports, asking nobody for a certificate."""
    credentials = grpc.ssl_server_credentials([(impostor.key.pem(), impostor.chain.encode())])
    joins = rpc.join_service(impostor.enrol, impostor.renew)
    links = rpc.link_service(impostor.connect)
    async with AsyncExitStack() as stack:
        ports = [
            await stack.enter_async_context(listeners.listen("127.0.0.1:0", service, credentials))
            for service in (joins, links)
        ]
        impostor.join_address, impostor.link_address = (f"127.0.0.1:{port}" for port in ports)
        yield impostor
