"""An allocation as people see it: what it is, its four states, what can be done next."""

from collections.abc import Mapping
from typing import Final, cast

from penstock_client import screen, words
from penstock_client.options import Options
from penstock_client.screen import Column
from penstock_client.views.allocations import Allocation
from penstock_client.words import Row

FOUR: Final = ("desired", "observed", "execution", "projected")
TOLD_BELOW: Final = ("desired", "observed", "execution", "states", "estimate", "members")


def tell(options: Options, allocation: Allocation) -> None:
    if options.json:
        screen.document(allocation)
        return
    screen.card(allocation, leave=TOLD_BELOW)
    if outlook := outlook_of(allocation):
        screen.line(outlook)
    screen.line("")
    screen.table(COLUMNS, rows(allocation))
    if members := allocation.get("members"):
        screen.line("")
        screen.table(MEMBERS, [cast("Row", member) for member in members])
    if advice := ADVICE.get(allocation["status"]):
        screen.note(f"\nnext: {advice.format(id=allocation['id'])}")


def position(row: Row) -> str:
    """Its place in line, if it waits."""
    estimate = row.get("estimate")
    return words.plain(cast("Row", estimate).get("position")) if estimate else words.NONE


def outlook_of(allocation: Allocation) -> str:
    """When it may be placed, and what it waits for."""
    estimate = allocation.get("estimate")
    if not estimate:
        return ""
    others = estimate["leases_of_others"]
    named = [*estimate["leases"], *([f"{others} of other tenants"] if others else [])]
    waits = WAITS.get(estimate["waiting_for"], words.plain(estimate["waiting_for"]))
    when = words.when(estimate["at"]) if estimate["at"] else "nobody knows when"
    which = f" ({', '.join(map(words.plain, named))})" if named else ""
    return f"\nnumber {estimate['position']} in line, waits for {waits}{which}: {when}"


def rows(allocation: Allocation) -> list[Row]:
    """One row per aspect, so that the four states stand side by side."""
    return [
        {"aspect": aspect, **{name: show(state_of(allocation, name)) for name in FOUR}}
        for aspect, show in (("state", state), ("age", age), ("why", why))
    ]


def state_of(allocation: Allocation, name: str) -> Row:
    states: Mapping[str, object] = allocation.get("states") or {}
    found = states.get(name) or {"state": allocation.get(name)}
    return cast("Row", found)


def state(row: Row) -> str:
    return words.plain(row.get("state"))


def age(row: Row) -> str:
    return (
        words.aged(row.get("age_s")) if row.get("age_s") is not None else words.age(row.get("at"))
    )


def why(row: Row) -> str:
    step = ".".join(words.plain(row[key]) for key in ("workflow", "step") if row.get(key))
    given = (step, row.get("reason"), row.get("detail"))
    return ": ".join(words.plain(each) for each in given if each) or words.NONE


def titled(name: str) -> Column:
    return screen.column(name.upper(), name)


COLUMNS: Final = (screen.column("", "aspect"), *(titled(name) for name in FOUR))
MEMBERS: Final = (
    screen.column("MEMBER", "id"),
    *(titled(name) for name in ("node", "status", "observed", "execution", "reason")),
)
WAITS: Final = {
    "leases": "leases to end",
    "turn": "its turn",
    "quota": "quota",
    "balance": "money",
    "capacity": "more capacity",
}
ADVICE: Final = {
    "queued": "penstock allocation release {id} stops waiting",
    "expired": "penstock allocation create --queue-for DURATION waits longer",
    "placed": "penstock events --follow --subject {id}",
    "active": "penstock allocation release {id} --watch",
    "releasing": "penstock events --follow --subject {id}",
    "abandoned": "penstock allocation timeline {id} says who gave it up, and why",
    "released": "penstock usage ls --allocation {id}",
    "failed": "penstock allocation timeline {id}",
    "cleanup_blocked": "penstock slot show SLOT says why; then penstock slot cleanup SLOT",
}
