"""Reads openb's node and pod lists, and makes the order in which pods arrive."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import numpy as np

DEMAND_MAX: Final = 1.3  # of capacity
GPUS_MAX: Final = 64
# Columns that some of openb's pod lists leave out, and what that means for every pod.
LEFT_OUT: Final = {"gpu_spec": "any model will do", "memory_mib": "no memory is asked for"}
T = TypeVar("T")


class Malformed(Exception):
    """A file is not an openb list; the message says where and why."""


@dataclass(frozen=True)
class Machine:
    name: str
    model: str
    gpus: int
    cpu_milli: int
    memory_mib: int


@dataclass(frozen=True)
class Pod:
    """`models` that it may run on; any if empty."""

    gpus: int
    milli: int
    cpu_milli: int
    memory_mib: int
    models: tuple[str, ...]

    @property
    def milli_total(self) -> int:
        return self.gpus * self.milli


def machines(path: Path) -> list[Machine]:
    found = _read(path, _machine)
    if not any(machine.gpus for machine in found):
        raise Malformed(f"{path}: no node has a GPU")
    return found


def pods(path: Path) -> list[Pod]:
    found = _read(path, _pod)
    if not any(pod.milli_total for pod in found):
        raise Malformed(f"{path}: no pod asks for a GPU")
    return found


def left_out(path: Path) -> str:
    """What the list says nothing about, in words; nothing if it has every column."""
    with path.open(newline="") as file:
        columns = csv.DictReader(file).fieldnames or ()
    missing = [f"no {name}: {so}" for name, so in LEFT_OUT.items() if name not in columns]
    return f" ({'; '.join(missing)})" if missing else ""


def capacity_milli(nodes: list[Machine]) -> int:
    return 1000 * sum(node.gpus for node in nodes)


def arrivals(nodes: list[Machine], listed: list[Pod], seed: int) -> list[Pod]:
    """All pods, topped up by uniform resampling to 1.3 × capacity, the whole permuted."""
    random = np.random.default_rng(seed)
    order = list(range(len(listed)))
    lacking = DEMAND_MAX * capacity_milli(nodes) - sum(pod.milli_total for pod in listed)
    while lacking > 0:
        more = int(random.integers(len(listed)))
        order.append(more)
        lacking -= listed[more].milli_total
    return [listed[order[n]] for n in random.permutation(len(order))]


def _read(path: Path, parse: Callable[[dict[str, str]], T]) -> list[T]:
    try:
        with path.open(newline="") as file:
            rows = csv.DictReader(file)
            return [_parsed(path, rows.line_num, row, parse) for row in rows]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise Malformed(f"{path}: cannot be read: {error}") from None


def _parsed(path: Path, line: int, row: dict[str, str], parse: Callable[[dict[str, str]], T]) -> T:
    try:
        return parse(row)
    except KeyError as missing:
        raise Malformed(f"{path}:{line}: there is no column {missing}") from None
    except ValueError as wrong:
        raise Malformed(f"{path}:{line}: {wrong}") from None


def _machine(row: dict[str, str]) -> Machine:
    gpus = _number(row, "gpu", GPUS_MAX)
    name = row["sn"] or ""
    if not name:
        raise ValueError("sn is empty")
    if gpus and not row["model"]:
        raise ValueError("a node with GPUs names no model")
    return Machine(
        name, row["model"] or "none", gpus, _number(row, "cpu_milli"), _number(row, "memory_mib")
    )


def _pod(row: dict[str, str]) -> Pod:
    gpus = _number(row, "num_gpu", GPUS_MAX)
    milli = _number(row, "gpu_milli", 1000) if gpus else 0
    if gpus and not milli:
        raise ValueError("gpu_milli is 0 for a pod with GPUs")
    if gpus > 1 and milli != 1000:
        raise ValueError(f"{gpus} GPUs of {milli}/1000 each: several GPUs must be whole")
    models = tuple(sorted({name for name in (row.get("gpu_spec") or "").split("|") if name}))
    memory_mib = _number(row, "memory_mib") if "memory_mib" in row else 0
    return Pod(gpus, milli, _number(row, "cpu_milli"), memory_mib, models)


def _number(row: dict[str, str], column: str, most: int = 10**9) -> int:
    text = row[column]
    try:
        number = int(text)
    except (TypeError, ValueError):
        raise ValueError(f"{column} is {text!r}, not a whole number") from None
    if not 0 <= number <= most:
        raise ValueError(f"{column} is {number}, not 0 to {most}")
    return number
