"""What is asked for: 1, 2, 4 and 8 GPUs and whole nodes, as often each.

It imports nothing of the product, so that a client which asks for it starts at once.
"""

import random
from dataclasses import dataclass

GPUS = 8
SLICE, METAL = "slice", "metal"


@dataclass(frozen=True)
class Wish:
    sku: str
    gpus: int

    @property
    def slots(self) -> int:
        """A whole node is its GPUs and its chassis."""
        return self.gpus + (self.sku == METAL)


WISHES = (*(Wish(SLICE, gpus) for gpus in (1, 2, 4, 8)), Wish(METAL, GPUS))


def wish(rng: random.Random) -> Wish:
    return rng.choice(WISHES)
