"""What is asked for: 1, 2, 4 and 8 GPUs and whole nodes, as often each."""

import random
from dataclasses import dataclass

from . import stage


@dataclass(frozen=True)
class Wish:
    sku: str
    gpus: int

    @property
    def slots(self) -> int:
        """A whole node is its GPUs and its chassis."""
        return self.gpus + (self.sku == stage.METAL)


WISHES = (*(Wish(stage.SLICE, gpus) for gpus in (1, 2, 4, 8)), Wish(stage.METAL, stage.GPUS))


def wish(rng: random.Random) -> Wish:
    return rng.choice(WISHES)
