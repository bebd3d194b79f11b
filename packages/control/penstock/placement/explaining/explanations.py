"""Why nothing fits, and what would: each answer is found by running the solver."""

from functools import partial

from penstock.placement.explaining import nearmisses
from penstock.placement.explaining.changes import Search, Solve
from penstock.placement.explaining.leeways import Leeway
from penstock.placement.fleet import Fleet
from penstock.placement.plans import Explanation
from penstock.placement.requests import Request


def explain(request: Request, fleet: Fleet, leeway: Leeway, solve: Solve) -> Explanation:
    family = fleet.asked(request).get(request.family)
    knows = partial(leeway.knows, request)
    near = () if family is None else nearmisses.find(request, family, knows)
    return Explanation(near, Search(request, fleet, leeway, solve).find())
