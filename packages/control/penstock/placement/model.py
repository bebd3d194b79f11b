"""What others name of placement."""

from penstock.placement.estimates import WaitsFor
from penstock.placement.fleet import Fleet
from penstock.placement.leeways import Alternative, Leeway
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
from penstock.placement.potentials import Weights
from penstock.placement.requests import Request, Shape, Share, Strategy
from penstock.placement.workloads import Workload

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
