"""Changes of a refused request that fit now, of every kind, each found by running the solver."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from penstock.placement.explaining import availability
from penstock.placement.explaining.leeways import Leeway
from penstock.placement.fleet import Fleet
from penstock.placement.plans import Change, Plan, Refusal
from penstock.placement.requests import Request

Solve = Callable[[Request, Fleet], Plan | Refusal]
Sites = tuple[str | None, ...]  # None: any that policy allows
Sizes = list[tuple[int, Request]]  # the largest first
OF_A_KIND_MAX: Final = 2


class Search:
    """The changes of one request. The smaller a change, the sooner it comes."""

    def __init__(self, request: Request, fleet: Fleet, leeway: Leeway, solve: Solve) -> None:
        self._request = request
        self._fleet = fleet
        self._leeway = leeway
        self._solve = solve

    def find(self) -> tuple[Change, ...]:
        """At most two of a kind, so that no kind crowds out another."""
        elsewhere = tuple(self._another_site())
        # Where all of it fits, nobody wants less.
        sites = (self._request.site_id, *(() if elsewhere else (None,)))
        return (
            *elsewhere,
            *self._fewer_gpus(sites),
            *self._fewer_nodes(sites),
            *self._another_family(),
            *self._not_apart(),
            *self._at_a_higher_price(),
            *(() if elsewhere else self._spanning_sites()),
        )

    def _fits(self, request: Request) -> Plan | None:
        plan = self._solve(request, self._fleet)
        return plan if isinstance(plan, Plan) else None

    def _another_site(self) -> Iterator[Change]:
        """Of those that policy allows."""
        if self._request.site_id is None:
            return
        for plan in self._best_sites(replace(self._request, site_id=None)):
            there = replace(self._request, site_id=plan.site_id)
            yield _change("another_site", f"at site {plan.site_id}", there, plan)

    def _best_sites(self, anywhere: Request) -> Iterator[Plan]:
        left = set(self._sites(anywhere))
        for _ in range(OF_A_KIND_MAX):
            plan = self._fits(replace(anywhere, sites=tuple(sorted(left))))
            if plan is None:
                return
            yield plan
            left.discard(plan.site_id)

    def _sites(self, anywhere: Request) -> Iterable[str]:
        if anywhere.sites is not None:
            return anywhere.sites
        family = self._fleet.family(anywhere.family)
        return () if family is None else (traits.site_id for traits in family.cohorts)

    def _fewer_gpus(self, sites: Sites) -> Iterator[Change]:
        smaller = sorted((n for n in self._leeway.counts if n < self._request.gpus), reverse=True)
        yield from self._most(
            sites, "fewer_gpus", "GPU", [(n, replace(self._request, gpus=n)) for n in smaller]
        )

    def _fewer_nodes(self, sites: Sites) -> Iterator[Change]:
        """Of a gang: the most that fit, which is as many as one site has."""
        one = replace(self._request, nodes=1, site_id=None)
        there = set(availability.count(one, self._fleet).values())
        smaller = sorted((n for n in there if 0 < n < self._request.nodes), reverse=True)
        yield from self._most(
            sites, "fewer_nodes", "node", [(n, replace(self._request, nodes=n)) for n in smaller]
        )

    def _most(self, sites: Sites, kind: str, noun: str, smaller: Sizes) -> list[Change]:
        """The most that fit where it was asked for; and the most elsewhere, if that is more."""
        here, *others = dict.fromkeys(sites)
        found = list(islice(self._fitting(here, kind, noun, smaller), OF_A_KIND_MAX))
        enough = found[0][0] if found else 0
        larger = [(count, fewer) for count, fewer in smaller if count > enough]
        more = [
            one for site in others for one in islice(self._fitting(site, kind, noun, larger), 1)
        ]
        return [change for _, change in (*found[: OF_A_KIND_MAX - len(more)], *more)]

    def _fitting(
        self, site: str | None, kind: str, noun: str, smaller: Sizes
    ) -> Iterator[tuple[int, Change]]:
        for count, fewer in smaller:
            if found := self._at(site, fewer):
                where, asked, plan = found
                what = f"with {count} {noun}{'s' if count > 1 else ''}{where}"
                yield count, _change(kind, what, asked, plan)

    def _another_family(self) -> Iterator[Change]:
        """Each once, where it was asked for or else wherever policy allows."""
        named: set[str] = set()
        sites = dict.fromkeys((self._request.site_id, None))
        for other in self._leeway.alternatives:
            if other.family in named or len(named) >= OF_A_KIND_MAX:
                continue
            change = replace(self._request, family=other.family)
            found = next(filter(None, (self._at(site, change) for site in sites)), None)
            if found is not None:
                named.add(other.family)
                where, asked, plan = found
                what = f"with {other.family} GPUs, as {other.sku}{where}"
                yield _change("another_family", what, asked, plan, sku=other.sku)

    def _at(self, site: str | None, request: Request) -> tuple[str, Request, Plan] | None:
        """Where it fits, in words if that is not where it was asked for, and how to ask for it."""
        plan = self._fits(replace(request, site_id=site))
        if plan is None:
            return None
        if site == self._request.site_id:
            return "", replace(request, site_id=site), plan
        return f" at site {plan.site_id}", replace(request, site_id=plan.site_id), plan

    def _not_apart(self) -> Iterator[Change]:
        if self._request.apart_from:
            beside = replace(self._request, apart_from=())
            if plan := self._fits(beside):
                yield _change("not_apart", "beside what it should stay apart from", beside, plan)

    def _at_a_higher_price(self) -> Iterator[Change]:
        """A request's own ceiling can be raised, up to its tenant's."""
        ceiling = self._leeway.policy.price_micros_max
        if self._request.price_micros_max != ceiling:
            dearer = replace(self._request, price_micros_max=ceiling)
            what = "at any price" if ceiling is None else f"at up to {ceiling} micros a GPU-hour"
            if plan := self._fits(dearer):
                yield _change("higher_price", what, dearer, plan)

    def _spanning_sites(self) -> Iterator[Change]:
        """If policy named no sites. Where that would be is not for the tenant to know."""
        if self._request.sites is None:
            return
        anywhere = replace(self._request, sites=None, site_id=None)
        if plan := self._fits(anywhere):
            what = "at other sites, if your tenant may use them"
            known = self._leeway.sees_all
            yield _change("spanning_sites", what, anywhere, plan, named=known)


def _change(
    kind: str, what: str, request: Request, plan: Plan, *, sku: str = "", named: bool = True
) -> Change:
    site, node = (plan.site_id, plan.node_id) if named else (None, None)
    return Change(kind, what, request, site, node, sku)
