"""What others name of placement."""

from penstock.placement.divisible.potentials import Weights
from penstock.placement.divisible.workloads import Workload
from penstock.placement.explaining.leeways import Alternative, Leeway
from penstock.placement.fleet import Fleet
from penstock.placement.line.estimates import WaitsFor
from penstock.placement.nodes import Node, Slot
from penstock.placement.plans import (
    Candidate,
    Change,
    Explanation,
    NearMiss,
    Part,
    Plan,
    Refusal,
)
from penstock.placement.requests import Request, Shape, Share, Strategy

__all__ = [
    "Alternative",
    "Candidate",
    "Change",
    "Explanation",
    "Fleet",
    "Leeway",
    "NearMiss",
    "Node",
    "Part",
    "Plan",
    "Refusal",
    "Request",
    "Shape",
    "Share",
    "Slot",
    "Strategy",
    "WaitsFor",
    "Weights",
    "Workload",
]
