"""Penstock's engine as a policy: it is told the workload, as FGD is, and asked pod by pod."""

from collections import Counter

from openb.trace import Machine, Pod
from penstock.placement import solver
from penstock.placement.model import Fleet, Node, Plan, Share, Slot, Weights, Workload


class Engine:
    def __init__(self, nodes: list[Machine], listed: list[Pod], weights: Weights) -> None:
        self._shares = {pod: _share(pod) for pod in listed}
        self._fleet = Fleet(map(_node, nodes))
        counts = Counter(listed)
        workload = Workload((self._shares[pod], count) for pod, count in counts.items())
        self._fleet.declare(workload, weights)

    def place(self, pod: Pod) -> bool:
        plan = solver.solve(self._shares[pod], self._fleet)
        if isinstance(plan, Plan):
            self._fleet.take(plan)
            return True
        return False


def _share(pod: Pod) -> Share:
    return Share(pod.models, pod.gpus, pod.milli, pod.cpu_milli, pod.memory_mib)


def _node(machine: Machine) -> Node:
    def slot(name: str, index: int) -> Slot:
        return Slot(f"{machine.name}/{name}", index, 0, approved=True, free=True)

    return Node(
        id=machine.name,
        site_id="openb",
        family=machine.model,
        blocked="",
        chassis=slot("chassis", 0),
        gpus=tuple(slot(str(n), n) for n in range(machine.gpus)),
        divisible=True,
        cpu_milli_free=machine.cpu_milli,
        memory_mib_free=machine.memory_mib,
    )
