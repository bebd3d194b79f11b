"""How quotas are said."""

from penstock.central.balances.model import amount
from penstock.central.quotas.model import Kind, Measure


def so_much(measure: Measure, count: int) -> str:
    """`1 GPU`, `8 h100 GPUs`, `2 whole nodes`, `12.50 USD`."""
    if measure.kind is Kind.SPEND:
        return f"{amount(count)} {measure.currency}"
    noun = {Kind.GPUS: "GPU", Kind.NODES: "whole node", Kind.VLANS: "VLAN"}[measure.kind]
    words = [str(count), measure.family, noun if count == 1 else f"{noun}s"]
    return " ".join(word for word in words if word)


def bare(measure: Measure, count: int) -> str:
    """Without what it is of: `8`, `12.50`."""
    return amount(count) if measure.kind is Kind.SPEND else str(count)


def uses(measure: Measure, count: int) -> str:
    if measure.kind is Kind.SPEND:
        return f"has spent {so_much(measure, count)} this month"
    return f"holds {so_much(measure, count)} now"


def may_use(measure: Measure, count: int) -> str:
    if measure.kind is Kind.SPEND:
        return f"may spend {so_much(measure, count)} a month"
    return f"may hold {so_much(measure, count)}"
