"""`penstock allocation`: GPUs, from asking for them to giving them back."""

from typing import Annotated, Final

from cyclopts import App, Parameter

from penstock_client import amounts, answers, durations, errors, screen, session, watching, words
from penstock_client.commands import states
from penstock_client.options import UNSAID, UNSET, Changing, Options, Several
from penstock_client.screen import Column, aged, column
from penstock_client.session import Session
from penstock_client.views.allocations import Allocation, Replay
from penstock_client.views.placement import Strategy
from penstock_client.watching import Journey

app = App(name="allocation", help="Allocations: GPUs, from asking for them to giving them back.")
Flag = Annotated[bool, Parameter(negative=())]

COLUMNS: Final = (
    column("ID", "id"),
    column("SKU", "sku"),
    column("GPUS", "gpus", right=True),
    column("NODES", "nodes", right=True),
    column("STATUS", "status"),
    Column("LINE", states.position, right=True),
    column("SITE", "site"),
    column("NODE", "node"),
    Column("PRICE", words.price, right=True),
    aged("CREATED", "created_at"),
)


@app.command
def ls(
    *,
    project: str | None = None,
    status: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    options: Options = UNSET,
) -> None:
    """List allocations.

    Parameters
    ----------
    project
        Only this project's.
    status
        Only those with this status: queued, placed, active, releasing, released, failed,
        cleanup_blocked, abandoned, expired.
    limit
        At most this many.
    cursor
        Go on where an earlier list ended.
    """
    with session.start(options) as run:
        page = run.client.allocations.list(
            project=project, status=status, cursor=cursor, limit=limit
        )
    answers.listing(options, page, COLUMNS, empty="none: `penstock allocation create --sku SKU`")


@app.command
def show(id: str, /, *, options: Options = UNSET) -> None:
    """Show one allocation, its four states side by side."""
    with session.start(options) as run:
        states.tell(options, run.client.allocations.get(id))


@app.command
def create(
    *,
    sku: str,
    gpus: int | None = None,
    nodes: int | None = None,
    site: str | None = None,
    project: str | None = None,
    strategy: Strategy | None = None,
    residency: Several = (),
    price_max: str | None = None,
    apart_from: Several = (),
    queue: Flag = False,
    queue_for: str | None = None,
    priority: int | None = None,
    ends: str | None = None,
    watch: Flag = False,
    options: Changing = UNSAID,
) -> int:
    """Ask for GPUs.

    Parameters
    ----------
    sku
        What to allocate: see `penstock sku ls`.
    gpus
        How many, of each node; the SKU's only size if left out.
    nodes
        So many whole nodes, all or none, as one allocation. Only of SKUs of whole nodes.
    site
        Only at this site.
    project
        Whose they are; the context's project if left out.
    strategy
        Fill nodes that are in use already, or take the emptiest; the tenant's if left out.
    residency
        Tags that the node must have, besides those that the tenant's policy wants.
    price_max
        What a node's source may ask per GPU and hour: 2.49.
    apart_from
        Allocations with which it must not share a node.
    queue
        Wait for room if there is none now.
    queue_for
        Wait no longer than this: 90s, 30m, 12h, 7d. Implies --queue.
    priority
        From 0 to 100, higher goes first; 50 if left out, more needs an admin.
    ends
        When to release them, as 2026-01-31T18:00:00Z: it is done then, with a warning before
        (the event allocation.ending). If they still wait for room, they stop waiting.
    watch
        Show each step until the GPUs are active. Exits with 1 if they never are.
    """
    ceiling = None if price_max is None else amounts.micros_of(price_max, "--price-max")
    wait_s = None if queue_for is None else durations.seconds(queue_for)
    with session.start(options) as run:
        made = run.client.allocations.create(
            project=run.project(project), sku=sku, gpus=gpus, nodes=nodes, site=site,
            strategy=strategy, residency=residency, price_micros_max=ceiling, apart_from=apart_from,
            queue=queue or wait_s is not None, queue_for_s=wait_s, priority=priority, ends_at=ends,
        )  # fmt: skip
        return finish(run, options, made, watching.CREATION if watch else None)


@app.command
def release(id: str, /, *, watch: Flag = False, options: Changing = UNSAID) -> int:
    """Give the GPUs back, or stop waiting for them; of several nodes, all of them.

    Returns at once; billing stops when the node has stopped them.

    Parameters
    ----------
    watch
        Show each step until cleanup is proven. Exits with 1 if it is blocked.
    """
    with session.start(options) as run:
        given = run.client.allocations.release(id)
        return finish(run, options, given, watching.RELEASE if watch else None)


@app.command
def abandon(id: str, /, *, reason: str, options: Options = UNSET) -> int:
    """Give up a release that cannot end, because the node does not prove cleanup.

    For operators. The tenant has its quota back; the slots stay blocked until the node proves
    that they are clean.

    Parameters
    ----------
    reason
        Kept with the evidence and in the audit log; the tenant reads it, too.
    """
    with session.start(options) as run:
        return finish(run, options, run.client.allocations.abandon(id, reason=reason), None)


@app.command
def timeline(id: str, /, *, options: Options = UNSET) -> None:
    """Show everything that happened to an allocation."""
    with session.start(options) as run:
        page = run.client.allocations.timeline(id)
    if options.json:
        screen.document(page)
        return
    clock = watching.Clock()
    for event in page["items"]:
        screen.line(clock.line(event))


@app.command
def receipt(id: str, /, *, replay: bool = False, options: Options = UNSET) -> int:
    """Show why it was placed where it is: candidates, scores, rejections.

    Parameters
    ----------
    replay
        Decide again, on the fleet as it was, and compare. Exits with 1 if it differs.
    """
    with session.start(options) as run:
        if replay:
            return show_replay(options, id, run.client.allocations.replay(id))
        found = run.client.allocations.receipt(id)
    if options.json:
        screen.document(found)
    else:
        screen.outline(found)
    return errors.OK


def show_replay(options: Options, id: str, again: Replay) -> int:
    if options.json:
        screen.document(again)
    elif again["same"]:
        screen.line(f"{id}: decided again, with the same result")
    else:
        screen.line(f"{id}: decided again, and it differs in {', '.join(again['differences'])}")
        if again["receipt"] is not None:
            screen.outline(again["receipt"])
    return errors.OK if again["same"] else errors.REFUSED


def on_nodes(begun: Allocation) -> str:
    nodes = begun.get("nodes", 1)
    return f" on each of {nodes} nodes" if nodes > 1 else ""


def finish(run: Session, options: Options, begun: Allocation, journey: Journey | None) -> int:
    """Follow the journey if asked, then show where it stands and what can be done next."""
    if journey is None:
        states.tell(options, begun)
        return errors.OK
    stream = watching.stream_for(as_json=options.json)
    screen.line(f"{begun['id']}: {begun['gpus']} GPUs of {begun['sku']}{on_nodes(begun)}", stream)
    try:
        with watching.teller(stream) as tell:
            ended = watching.follow(
                run.client.events, run.client.allocations, begun["id"], journey, tell
            )
    except KeyboardInterrupt:
        screen.note(f"it goes on without you: `penstock allocation show {begun['id']}`")
        raise
    states.tell(options, ended)
    return errors.OK if ended["status"] == journey.goal else errors.REFUSED
