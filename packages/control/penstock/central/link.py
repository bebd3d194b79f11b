"""Central's end of the site link: join, and the two feeds of a connected site."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from penstock.central import reports
from penstock.central.settings import CentralSettings
from penstock.central.sites import enrolment, store
from penstock.central.sites.service import orders
from penstock.kernel import events, listeners
from penstock.kernel.authority import Authority, to_pem
from penstock.kernel.db import Database, Tx
from penstock.kernel.errors import Forbidden
from penstock.kernel.feed import Inbox, Outbox
from penstock.kernel.listeners import Links, ServerIdentity
from penstock.kernel.wakeups import Wakeups
from penstock_contracts import identity, link, rpc
from penstock_contracts.identity import Peer, PrivateKey
from penstock_contracts.ids import EventId, SiteId
from penstock_contracts.wire_pb2 import Enrolment, EnrolRequest, RenewRequest


class SiteLinks:
    def __init__(
        self, database: Database, wakeups: Wakeups, root: Authority, settings: CentralSettings
    ) -> None:
        self._database = database
        self._wakeups = wakeups
        self._root = root
        self._settings = settings

    @asynccontextmanager
    async def listen(self) -> AsyncGenerator[None, None]:
        key = PrivateKey.generate()
        me = ServerIdentity(key.pem(), partial(self._issue, key), self._root.pem)
        links = Links(lambda: self._root, "site", self._serve)
        join = rpc.join_service(self._enrol, self._renew)
        async with AsyncExitStack() as stack:
            for address, service, mutual in (
                (self._settings.join_listen, join, False),
                (self._settings.link_listen, rpc.link_service(links.connect), True),
            ):
                credentials = me.credentials(mutual=mutual)
                await stack.enter_async_context(listeners.listen(address, service, credentials))
            yield

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

    async def _serve(self, peer: Peer, stream: rpc.ServerStream) -> None:
        site_id = SiteId.parse(peer.id)
        session = f"{self._settings.replica}:{EventId.new()}"
        await self._database.run(partial(_connected, site_id=site_id, session=session))
        feed = orders(site_id)

        async def handle(tx: Tx, body: bytes) -> None:
            await reports.handle(tx, site_id, body)

        try:
            with Outbox(self._database, self._wakeups, feed) as outbox:
                await link.run(stream, outbox, Inbox(self._database, feed, handle))
        finally:
            await self._database.run(
                partial(_disconnected, site_id=site_id, session=session), patient=False
            )


async def _connected(tx: Tx, site_id: SiteId, session: str) -> None:
    site = await store.get(tx, site_id)
    if site.public_key is None:
        raise Forbidden("this site is not enrolled")
    await store.connect(tx, site_id, session)
    events.emit(tx, "site.connected", site_id, name=site.name)


async def _disconnected(tx: Tx, site_id: SiteId, session: str) -> None:
    if await store.disconnect(tx, site_id, session):
        events.emit(tx, "site.disconnected", site_id)
