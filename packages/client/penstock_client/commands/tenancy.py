"""How a tenant comes and goes: the verbs of `penstock tenant` that take their time."""

from typing import Annotated, Final

from cyclopts import App, Parameter

from penstock_client import answers, errors, files, screen, session, watching
from penstock_client.options import UNSAID, UNSET, Changing, Options
from penstock_client.screen import aged, column
from penstock_client.session import Session
from penstock_client.views.onboardings import Onboarding

Watch = Annotated[bool, Parameter(negative=())]

STEPS: Final = (
    column("STEP", "name"),
    column("STATUS", "status"),
    column("CHANGED", "changed"),
    column("DETAIL", "detail"),
    aged("WHEN", "at"),
)


def onboard(*, file: str, watch: bool = True, options: Changing = UNSAID) -> int:
    """Make a tenant what a file says. The same file again changes nothing.

    Parameters
    ----------
    file
        YAML with tenant, admin, and any of template, placement, networks, quotas and
        organizations; `-` reads standard input.
    watch
        Show each step until the tenant is ready. Exits with 1 if it is undone.
    """
    wanted = files.read(file)
    with session.start(options) as run:
        begun = run.client.onboardings.create(wanted)
        if not watch:
            show(options, begun)
            return errors.OK
        ended = follow(run, options, begun)
        show(options, ended)
        invite(run, options, ended)
    return errors.OK if ended["status"] == watching.ONBOARDING.goal else errors.REFUSED


def follow(run: Session, options: Options, begun: Onboarding) -> Onboarding:
    stream = watching.stream_for(as_json=options.json)
    screen.line(f"{begun['id']}: {begun['name']}", stream)
    try:
        with watching.teller(stream) as tell:
            return watching.follow(
                run.client.events, run.client.onboardings, begun["id"], watching.ONBOARDING, tell
            )
    except KeyboardInterrupt:
        screen.note(f"it goes on without you: `penstock tenant onboarding {begun['id']}`")
        raise


def invite(run: Session, options: Options, ended: Onboarding) -> None:
    """The link for the first admin, who was invited just now. Nobody else has it."""
    invited = any(step["name"] == "admin" and step["changed"] for step in ended["steps"])
    if ended["status"] != watching.ONBOARDING.goal or not invited:
        return
    if options.json:
        screen.note(f"next: penstock user invite {ended['admin']} --role admin "
                    f"--tenant {ended['tenant']}")  # fmt: skip
        return
    made = run.client.users.invite(ended["admin"], role="admin", tenant=ended["tenant"])
    screen.note(f"\n{made['email']} becomes admin by opening this, which is shown this once:")
    screen.line(made["url"])


def onboarding(id: str, /, *, options: Options = UNSET) -> None:
    """Show one onboarding, step by step."""
    with session.start(options) as run:
        show(options, run.client.onboardings.get(id))


def show(options: Options, shown: Onboarding) -> None:
    if options.json:
        screen.document(shown)
        return
    screen.card(shown, leave=("steps",))
    screen.line("")
    screen.table(STEPS, shown["steps"])


def suspend(id: str, /, *, reason: str, options: Options = UNSET) -> None:
    """Let a tenant lease nothing new. What runs goes on, and can be released.

    Parameters
    ----------
    reason
        Why; the tenant sees it.
    """
    with session.start(options) as run:
        suspended = run.client.tenants.suspend(id, reason=reason)
    answers.thing(options, suspended, next=f"penstock tenant resume {suspended['id']} --reason …")


def resume(id: str, /, *, reason: str, options: Options = UNSET) -> None:
    """Let a suspended tenant lease again.

    Parameters
    ----------
    reason
        Why; the tenant sees it.
    """
    with session.start(options) as run:
        answers.thing(options, run.client.tenants.resume(id, reason=reason))


def offboard(id: str, /, *, reason: str, watch: Watch = False, options: Options = UNSET) -> None:
    """Release all that a tenant has, for good. Its name, audit log, usage and balance stay.

    Parameters
    ----------
    reason
        Why; the tenant sees it.
    watch
        Show what happens until every cleanup is proven and its networks are returned.
    """
    with session.start(options) as run:
        left = run.client.tenants.offboard(id, reason=reason)
        if watch:
            stream = watching.stream_for(as_json=options.json)
            try:
                with watching.teller(stream) as tell:
                    left = watching.follow(
                        run.client.events, run.client.tenants, left["id"], watching.OFFBOARDING,
                        tell, tenant=True,
                    )  # fmt: skip
            except KeyboardInterrupt:
                screen.note(f"it goes on without you: `penstock tenant show {left['id']}`")
                raise
    answers.thing(options, left)


def add_to(app: App) -> None:
    for verb in (onboard, onboarding, suspend, resume, offboard):
        app.command(verb)
