"""Claims as a state machine: whatever is done in whatever order, the database agrees."""

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from penstock.central.nodes import service as nodes
from penstock.central.slots import service as slots
from penstock.kernel.errors import Conflict
from penstock_contracts.ids import NodeId, SlotId

from . import expected
from .expected import Node
from .placing import LIMITS, SIZES, Placing
from .releasing import Releasing
from .scene import picks, rarely
from .stage import ADMIN


class Claims(Placing, Releasing):
    """What operators do is here; what tenants and sites do is inherited."""

    @initialize(ready=st.integers(1, len(SIZES)))
    def build(self, ready: int) -> None:
        self.do(self.stage.build(SIZES, LIMITS))
        self.expected = self.do(self.stage.expectation(LIMITS))
        for node in self.expected.nodes[:ready]:
            self.approve(node, None)

    def node(self, pick: int) -> Node:
        return self.expected.nodes[pick % len(self.expected.nodes)]

    @rule(pick=picks, draining=rarely)
    def drain(self, pick: int, draining: bool) -> None:
        node = self.node(pick)
        self.run(lambda tx: nodes.drain(tx, ADMIN, node.id, draining=draining, reason=""))
        node.draining = draining

    @rule(pick=picks, away=rarely)
    def connect(self, pick: int, away: bool) -> None:
        node = self.node(pick)
        self.do(self.stage.report(self.stage.nodes[node.id].present(connected=not away)))
        node.away = away

    @rule(pick=picks, which=st.one_of(st.none(), picks))
    def approve_some(self, pick: int, which: int | None) -> None:
        self.approve(self.node(pick), which)

    def approve(self, node: Node, which: int | None) -> None:
        only = None if which is None else SlotId(node.slots[which % len(node.slots)].id)
        wanted = [s for s in node.slots if not s.approved and not s.holder and only in (None, s.id)]
        try:
            self.run(lambda tx: slots.approve(tx, ADMIN, NodeId(node.id), only))
        except Conflict:
            assert wanted, "there was nothing to refuse"
            assert node.chassis.holder
            return
        assert not (wanted and node.chassis.holder)
        for slot in wanted:
            slot.approved = True

    @invariant()
    def nothing_is_violated(self) -> None:
        assert self.do(self.stage.violations()) == {}

    @invariant()
    def claims_are_as_expected(self) -> None:
        """Every claim ever made, in the order of fences; each lease has one of its own."""
        if hasattr(self, "expected"):
            made = self.do(self.stage.claims())
            assert expected.holds(made) == self.expected.holds
            leases = {claim.lease for claim in made}
            assert len({(claim.lease, claim.fence) for claim in made}) == len(leases)
            assert len({claim.fence for claim in made}) == len(leases)
