"""What a plan of moves is compared with: the optimum, and what first comes to mind."""

from penstock.placement.defragmentation.moves import Target
from penstock.placement.model import Shape

from .fleets import GPUS, Leased


def worth(target: Target, free: int) -> int:
    return int(free == GPUS) if target.shape is Shape.BAREMETAL else free // target.gpus


def optimum(leased: Leased, target: Target) -> tuple[int, int]:
    """The most that any rearrangement opens, and the fewest GPUs that must move for it.

    By dynamic programming: lease after lease, the cheapest way to each vector of free GPUs.
    It does not ask whether the moves can be made one after the other, so it may be out of reach.
    """
    free = leased.free()
    for lease in leased.leases:
        free[leased.place(lease)] += lease.gpus
    ways: dict[tuple[int, ...], int] = {tuple(free): 0}
    for lease in leased.leases:
        home = leased.place(lease)
        reached: dict[tuple[int, ...], int] = {}
        for vector, cost in ways.items():
            for node, room in enumerate(vector):
                if room >= lease.gpus:
                    then = (*vector[:node], room - lease.gpus, *vector[node + 1 :])
                    paid = cost + (0 if node == home else lease.gpus)
                    if paid < reached.get(then, 1 << 30):
                        reached[then] = paid
        ways = reached
    before = sum(worth(target, each) for each in leased.free())
    best = max((sum(worth(target, f) for f in vector), -cost) for vector, cost in ways.items())
    return best[0] - before, -best[1]


def first_fit(leased: Leased, target: Target) -> tuple[int, int]:
    """The emptiest node first; each lease to the first node with room; if one finds none, the
    node stays as it is. Opens whole nodes only."""
    free = leased.free()
    here: dict[int, list[int]] = {}
    for lease in leased.leases:
        here.setdefault(leased.place(lease), []).append(lease.gpus)
    opened = moved = 0
    taken: set[int] = set()
    for source in sorted(here, key=lambda node: sum(here[node])):
        if source in taken or free[source] + sum(here[source]) < GPUS:
            continue
        tried, used = list(free), set[int]()
        for gpus in here[source]:
            goals = (n for n, f in enumerate(tried) if n != source and gpus <= f < GPUS)
            goal = next(goals, None)
            if goal is None:
                break
            tried[goal] -= gpus
            used.add(goal)
        else:
            tried[source] = GPUS
            free, taken = tried, taken | used
            opened += 1
            moved += sum(here[source])
    before = sum(worth(target, each) for each in leased.free())
    return sum(worth(target, each) for each in free) - before, moved
