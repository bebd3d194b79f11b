"""The fleet as one replica knows it at a revision. Changing one node costs the same at any size."""

from collections.abc import Iterable, Iterator

from penstock.placement.divisible.potentials import Weights
from penstock.placement.divisible.workloads import Workload
from penstock.placement.index import quarantine
from penstock.placement.index.families import Family
from penstock.placement.nodes import Node
from penstock.placement.plans import Part, Plan
from penstock.placement.requests import Request, Share


class Fleet:
    """`quarantined` names the nodes that cannot be true, and why; nothing is placed there."""

    def __init__(self, nodes: Iterable[Node] = (), revision: int = 0) -> None:
        self.revision = revision
        self.quarantined: dict[str, str] = {}
        self.workload = Workload(())
        self.weights = Weights()
        self._families: dict[str, Family] = {}
        self._homes: dict[str, str] = {}
        for node in nodes:
            self.put(node)

    def put(self, node: Node) -> None:
        wrong = quarantine.why(node)
        if wrong or self._homes.get(node.id) != node.family:
            self.drop(node.id)
        if wrong:
            self.quarantined[node.id] = wrong
            return
        self.quarantined.pop(node.id, None)
        self._homes[node.id] = node.family
        self._home(node.family).put(node)

    def drop(self, id: str) -> None:
        self.quarantined.pop(id, None)
        home = self._homes.pop(id, None)
        if home is not None:
            self._families[home].drop(id)
            if not self._families[home].rows:
                del self._families[home]

    def take(self, plan: Plan) -> None:
        """Remember that the plan's slots are held, so that the next request sees it."""
        for part in plan.parts:
            self.hold(part)

    def hold(self, part: Part) -> None:
        """Whoever placed it: the part is held from now on. Nodes that are not known are not."""
        home = self._homes.get(part.node_id)
        if home is not None:
            self._families[home].turn(part, free=False)

    def free(self, part: Part) -> None:
        """What the part holds may be claimed again."""
        home = self._homes.get(part.node_id)
        if home is not None:
            self._families[home].turn(part, free=True)

    def holds(self, part: Part) -> bool:
        """Whether all that the part names is known, and held."""
        home = self._homes.get(part.node_id)
        return home is not None and self._families[home].holds(part)

    def declare(self, workload: Workload, weights: Weights | None = None) -> None:
        """Say what shares are typically asked for; costs are reckoned by it from now on."""
        self.workload = workload
        self.weights = weights or Weights()
        for name, family in self._families.items():
            family.costs.declare(workload.view(name), self.weights)

    def asked(self, request: Request | Share) -> dict[str, Family]:
        """The families that may serve the request, each once, by name."""
        every = (request.family,) if isinstance(request, Request) else request.families
        found = {
            name: self._families[name]
            for name in every or self.families()
            if name in self._families
        }
        if request.families_allowed is None:
            return found
        return {name: found[name] for name in found if name in request.families_allowed}

    def each_family(self) -> Iterator[tuple[str, Family]]:
        return iter(self._families.items())

    def family(self, name: str) -> Family | None:
        return self._families.get(name)

    def families(self) -> list[str]:
        return sorted(self._families)

    def _home(self, name: str) -> Family:
        found = self._families.get(name)
        if found is None:
            found = self._families[name] = Family()
            found.costs.declare(self.workload.view(name), self.weights)
        return found

    def __len__(self) -> int:
        return len(self._homes)
