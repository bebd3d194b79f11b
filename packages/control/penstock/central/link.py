"""Central's end of the site link: join, and the two feeds of a connected site."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from penstock.central import reports
from penstock.central.settings import CentralSettings
from penstock.central.sites import enrolment, roots
from penstock.central.sites import service as sites
from penstock.kernel import listeners
from penstock.kernel.authority import Authority, to_pem
from penstock.kernel.db import Database, Tx
from penstock.kernel.feed import Inbox, Outbox
from penstock.kernel.listeners import Links
from penstock.kernel.wakeups import Wakeups
from penstock_contracts import identity, link, rpc
from penstock_contracts.identity import Peer, PrivateKey
from penstock_contracts.ids import EventId, SiteId
from penstock_contracts.wire_pb2 import Enrolment, EnrolRequest, RenewRequest


class Orders(Outbox):
    """A site's orders, each signed as it leaves: not in the transaction that decided it, where
    others wait. Whoever only speaks as central cannot give one."""

    def __init__(self, database: Database, wakeups: Wakeups, feed: str, key: PrivateKey) -> None:
        super().__init__(database, wakeups, feed)
        self._key = key

    async def read(self, after: int, limit: int) -> Sequence[link.Outgoing]:
        return [
            link.Outgoing(entry.seq, self._key.sign(entry.body).SerializeToString())
            for entry in await super().read(after, limit)
        ]


class SiteLinks:
    def __init__(
        self, database: Database, wakeups: Wakeups, root: Authority, settings: CentralSettings
    ) -> None:
        self._database = database
        self._wakeups = wakeups
        self._root = root
        self._order_key = roots.order_key(root)
        self._settings = settings

    def listen(self) -> AbstractAsyncContextManager[None]:
        """Serve until the block ends."""
        links = Links(lambda: self._root, "site", self._serve)
        return listeners.listen_both(
            (self._settings.join_listen, rpc.join_service(self._enrol, self._renew)),
            (self._settings.link_listen, links),
            self._issue,
            self._root.pem,
        )

    def _issue(self, key: PrivateKey) -> str:
        uri = identity.spiffe("central", "central")
        name = enrolment.SERVER_NAME
        return to_pem(self._root.issue(key.csr(name), uri, dns=name))

    async def _enrol(self, request: EnrolRequest, context: rpc.ServerContext) -> Enrolment:
        async def work() -> Enrolment:
            async with self._database.transaction() as tx:
                return await enrolment.enrol(tx, self._root, self._settings.link_address, request)

        return await listeners.answer(context, work())

    async def _renew(self, request: RenewRequest, context: rpc.ServerContext) -> Enrolment:
        async def work() -> Enrolment:
            async with self._database.transaction() as tx:
                return await enrolment.renew(tx, self._root, self._settings.link_address, request)

        return await listeners.answer(context, work())

    async def _serve(self, peer: Peer, stream: rpc.ServerStream, _life: asyncio.Timeout) -> None:
        site_id = SiteId.parse(peer.id)
        session = f"{self._settings.replica}:{EventId.new()}"
        await self._database.run(lambda tx: sites.connected(tx, site_id, peer.public_key, session))
        feed = sites.orders(site_id)

        async def handle(tx: Tx, body: bytes) -> None:
            await reports.handle(tx, site_id, body)

        try:
            with Orders(self._database, self._wakeups, feed, self._order_key) as outbox:
                await link.run(stream, outbox, Inbox(self._database, feed, handle))
        finally:
            await listeners.to_the_end(
                self._database.run(
                    lambda tx: sites.disconnected(tx, site_id, session), patient=False
                )
            )
