"""Rules of releasing: asked for, failed, proven in every good and bad way, asked again."""

from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from penstock.central.allocations import release
from penstock.central.slots import service as slots
from penstock.kernel.db import Tx
from penstock.kernel.feed import Rejected

from . import proofs
from .expected import Lease
from .scene import Scene, picks, rarely
from .stage import ADMIN

kinds = st.lists(st.one_of(st.just(proofs.GOOD), st.sampled_from(tuple(proofs.FORGES))), min_size=1)


class Releasing(Scene):
    def lease(self, pick: int, among: Callable[[Lease], bool] = lambda _lease: True) -> Lease:
        """One of those that are meant, if there is one; else any."""
        leases = list(self.expected.leases.values())
        meant = [lease for lease in leases if among(lease)] or leases
        return meant[pick % len(meant)]

    def asked_cleanup(self, lease: Lease) -> None:
        self.expected.ask_cleanup(lease)
        order = self.do(self.stage.order(lease.id))
        assert order.revision == lease.revision
        assert {slot.slot_id for slot in order.slots} == {slot.id for slot in lease.held}
        self.orders[lease.id].append(order)

    @precondition(lambda self: self.expected.leases)
    @rule(count=st.integers(1, 4))
    def turn_over(self, count: int) -> None:
        """Leases end as they should: so that slots are claimed again and again."""
        for lease in [lease for lease in self.expected.leases.values() if lease.live][:count]:
            self.end(lease)
            self.tell(lease, [proofs.GOOD], 0, pretend=False)
            assert not lease.live

    @precondition(lambda self: self.expected.leases)
    @rule(pick=picks)
    def release(self, pick: int) -> None:
        self.end(self.lease(pick, lambda lease: not lease.released))

    def end(self, lease: Lease) -> None:
        self.run(lambda tx: release.release(tx, ADMIN, lease.id))
        if not lease.released:
            self.asked_cleanup(lease)

    @precondition(lambda self: self.expected.leases)
    @rule(pick=picks)
    def fail(self, pick: int) -> None:
        """Its site could not realize it: it is released, and still holds its slots."""
        lease = self.lease(pick)
        self.do(self.stage.report(proofs.failed(self.orders[lease.id][-1])))
        if not lease.released:
            self.asked_cleanup(lease)

    @precondition(lambda self: self.expected.blocked)
    @rule(pick=picks)
    def retry(self, pick: int) -> None:
        id = sorted(self.expected.blocked)[pick % len(self.expected.blocked)]

        async def ask(tx: Tx) -> None:
            await release.retry_cleanup(tx, ADMIN, await slots.get(tx, ADMIN, id))

        self.run(ask)
        (lease,) = [a for a in self.expected.leases.values() if id in {s.id for s in a.held}]
        self.asked_cleanup(lease)

    @precondition(lambda self: self.expected.leases)
    @rule(pick=picks, kinds=kinds, back=st.integers(0, 2), pretend=st.booleans(), astray=rarely)
    def prove(self, pick: int, kinds: list[str], back: int, pretend: bool, astray: bool) -> None:
        """A cleanup report: good, spoiled, for an older ask, or an older one's under a new name."""
        meant = self.lease(pick, lambda lease: astray or (lease.live and lease.released))
        self.tell(meant, kinds, back, pretend=pretend)

    def tell(self, lease: Lease, kinds: list[str], back: int, *, pretend: bool) -> None:
        told = self.orders[lease.id]
        newest, order = told[-1], told[max(len(told) - 1 - back, 0)]
        node = self.stage.nodes[lease.node.id]
        used = {s.slot_id: kinds[at % len(kinds)] for at, s in enumerate(order.slots)}
        made = [proofs.make(used[s.slot_id], order, at, node) for at, s in enumerate(order.slots)]
        answered = newest if pretend else order
        report = proofs.report(answered, [signed for signed in made if signed])
        try:
            self.do(self.stage.report(report))
        except Rejected:
            assert not lease.released, "only what nobody asked for is rejected"
            return
        assert lease.released
        if answered is newest:
            fresh = order is newest
            self.judge(lease, {id for id, kind in used.items() if fresh and kind == proofs.GOOD})

    def judge(self, lease: Lease, proven: set[str]) -> None:
        for slot in lease.held:
            if slot.id in proven:
                self.expected.free(slot)
            else:
                self.expected.blocked.add(slot.id)
