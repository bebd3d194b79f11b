"""How quotas are said."""

from typing import Final

from penstock.central.balances.model import amount
from penstock.central.quotas.model import Kind, Measure

NOUNS: Final = {
    Kind.GPUS: "GPU",
    Kind.NODES: "whole node",
    Kind.CLUSTERS: "cluster",
    Kind.VLANS: "VLAN",
}
UNITS: Final = sorted(
    [(1024**n, unit) for n, unit in enumerate(("KiB", "MiB", "GiB", "TiB", "PiB"), 1)]
    + [(1000**n, unit) for n, unit in enumerate(("kB", "MB", "GB", "TB", "PB"), 1)],
    reverse=True,
)


def so_much(measure: Measure, count: int) -> str:
    """`1 GPU`, `8 h100 GPUs`, `2 whole nodes`, `2 TiB of volumes`, `12.50 USD`."""
    if measure.kind is Kind.SPEND:
        return f"{amount(count)} {measure.currency}"
    if measure.kind is Kind.VOLUMES:
        return f"{size(count)} of volumes"
    noun = NOUNS[measure.kind]
    words = [str(count), measure.family, noun if count == 1 else f"{noun}s"]
    return " ".join(word for word in words if word)


def bare(measure: Measure, count: int) -> str:
    """Without what it is of: `8`, `2 TiB`, `12.50`."""
    if measure.kind is Kind.VOLUMES:
        return size(count)
    return amount(count) if measure.kind is Kind.SPEND else str(count)


def size(count: int) -> str:
    """Exact: in the largest unit of which it is a whole number."""
    if count == 0:
        return "0 bytes"
    for of, unit in UNITS:
        if count % of == 0:
            return f"{count // of} {unit}"
    return "1 byte" if count == 1 else f"{count} bytes"


def uses(measure: Measure, count: int) -> str:
    if measure.kind is Kind.SPEND:
        return f"has spent {so_much(measure, count)} this month"
    return f"holds {so_much(measure, count)} now"


def may_use(measure: Measure, count: int) -> str:
    if measure.kind is Kind.SPEND:
        return f"may spend {so_much(measure, count)} a month"
    return f"may hold {so_much(measure, count)}"
