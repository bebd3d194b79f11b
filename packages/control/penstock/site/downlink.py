"""The site's end of the agent link: join, and the two feeds of a connected node."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from datetime import timedelta

from cryptography import x509

from penstock.kernel import listeners, log
from penstock.kernel.authority import Authority, to_pem
from penstock.kernel.db import Database, Tx
from penstock.kernel.feed import Inbox, Outbox
from penstock.kernel.listeners import Links
from penstock.kernel.wakeups import Wakeups
from penstock.site import health
from penstock.site.discrepancies import service as discrepancies
from penstock.site.nodes import discovery, enrolment, presence, reenrolment
from penstock.site.nodes.enrolment import Door
from penstock.site.nodes.model import Node
from penstock.site.nodes.presence import Ending
from penstock.site.settings import SiteSettings
from penstock.site.tasks import service as tasks
from penstock.site.tasks.service import Tasks
from penstock_contracts import identity, link, rpc
from penstock_contracts.identity import Peer, PrivateKey
from penstock_contracts.ids import EventId, SiteId
from penstock_contracts.membership import Member
from penstock_contracts.wire_pb2 import Enrolment, EnrolRequest, RenewRequest

logger = log.get(__name__)


class NodeLinks:
    def __init__(
        self,
        database: Database,
        wakeups: Wakeups,
        settings: SiteSettings,
        member: Member,
        ordered: Tasks,
    ) -> None:
        self._database = database
        self._wakeups = wakeups
        self._settings = settings
        self._member = member
        self._tasks = ordered
        self._server_name = f"{SiteId.parse(member.id).suffix}.site.penstock.internal"
        self._door = Door(settings.link_address, member.key.public())
        self._stopping = False

    @asynccontextmanager
    async def listen(self) -> AsyncGenerator[None, None]:
        """Serve until the block ends."""
        links = Links(self._authority, "node", self._serve)
        async with listeners.listen_both(
            (self._settings.join_listen, rpc.join_service(self._enrol, self._renew)),
            (self._settings.link_listen, links),
            self._issue,
            self._member.membership.ca_root_pem,
        ):
            try:
                yield
            finally:
                self._stopping = True

    def _authority(self) -> Authority:
        """The site's own, as renewed last."""
        pem = self._member.membership.ca_certificate_pem.encode()
        life = timedelta(seconds=self._settings.certificate_life_s)
        return Authority(self._member.ca_key(), x509.load_pem_x509_certificate(pem), life)

    def _issue(self, key: PrivateKey) -> str:
        authority = self._authority()
        uri = identity.spiffe("site", self._member.id)
        leaf = authority.issue(key.csr(self._server_name), uri, dns=self._server_name)
        return to_pem(leaf) + authority.pem

    async def _enrol(self, request: EnrolRequest, context: rpc.ServerContext) -> Enrolment:
        async def work() -> Enrolment:
            async with self._database.transaction() as tx:
                return await enrolment.enrol(tx, self._authority(), self._door, request)

        return await listeners.answer(context, work())

    async def _renew(self, request: RenewRequest, context: rpc.ServerContext) -> Enrolment:
        async def work() -> Enrolment:
            async with self._database.transaction() as tx:
                return await enrolment.renew(tx, self._authority(), self._door, request)

        return await listeners.answer(context, work())

    async def _serve(self, peer: Peer, stream: rpc.ServerStream, life: asyncio.Timeout) -> None:
        """A node reaches its own tasks and nothing else."""
        session = f"{self._settings.executor}:{EventId.new()}"
        node, hold_s = await self._database.run(lambda tx: self._connected(tx, peer, session))
        holding = asyncio.create_task(self._hold(node, session, hold_s))
        fault = ""
        try:
            await self._while_enrolled(node, self._run(node, stream))
        except (link.ProtocolViolated, link.PeerObjected) as violation:
            fault = str(violation)
            raise
        finally:
            holding.cancel()
            ending = Ending(fault, blameless=life.expired() or self._stopping)
            first_s = self._settings.link_hold_s
            await listeners.to_the_end(
                self._database.run(
                    lambda tx: presence.disconnected(tx, node.id, session, ending, first_s),
                    patient=False,
                )
            )

    async def _run(self, node: Node, stream: rpc.ServerStream) -> None:
        async def handle(tx: Tx, body: bytes) -> None:
            result = tasks.verified(node.id, node.public_key, body)
            if not result.task_id:
                await health.said(tx, self._tasks, result, body)
            elif await tasks.finish(tx, result, body):
                discovery.forward(tx, result, body)
                await discrepancies.answered(tx, self._tasks, node.id, result)

        feed = tasks.orders(node.id)
        with Outbox(self._database, self._wakeups, feed) as outbox:
            await link.run(stream, outbox, Inbox(self._database, feed, handle))

    async def _while_enrolled(self, node: Node, work: Coroutine[None, None, None]) -> None:
        """Serve the link until it breaks, or until its key opens nothing any more."""
        tasks = [asyncio.create_task(work), asyncio.create_task(self._until_revoked(node))]
        try:
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _until_revoked(self, node: Node) -> None:
        """Raises Forbidden once the node is retired, or has another key."""
        with self._wakeups.subscribe(reenrolment.changed(node.id)) as wakeup:
            while True:
                await self._database.run(lambda tx: presence.enrolled(tx, node.id, node.public_key))
                await wakeup.wait()

    async def _connected(self, tx: Tx, peer: Peer, session: str) -> tuple[Node, float]:
        node, hold_s = await presence.connected(
            tx, peer.id, peer.public_key, session, self._settings.link_hold_s
        )
        if hold_s == 0:
            await self._ask(tx, node, session)
        return node, hold_s

    async def _ask(self, tx: Tx, node: Node, session: str) -> None:
        """A node that is there is asked what it is made of, and what it holds."""
        await discovery.ask(tx, self._tasks, node.id, session)
        await discrepancies.ask(tx, self._tasks, node.id)

    async def _hold(self, node: Node, session: str, hold_s: float) -> None:
        """Ensures that a node whose link did not hold is there again once one has."""
        if hold_s == 0:
            return
        logger.warning("a link must hold first", node=node.id, hold_s=hold_s)
        await asyncio.sleep(hold_s)

        async def work(tx: Tx) -> None:
            if await presence.held(tx, node.id, session):
                await self._ask(tx, node, session)

        await self._database.run(work)
