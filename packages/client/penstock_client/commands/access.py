"""`penstock access`: whether something is permitted, and why."""

from typing import Annotated

from cyclopts import App, Parameter

from penstock_client import screen, session
from penstock_client.options import UNSET, Options
from penstock_client.views.access import Explanation

app = App(name="access", help="Access: whether something is permitted, and why.")


@app.command
def explain(
    action: str,
    resource: str | None = None,
    /,
    *,
    someone: Annotated[str | None, Parameter(name="--as")] = None,
    options: Options = UNSET,
) -> int:
    """Say whether you may do something, by which policies, and which role would permit it.

    Exits with 1 if it is denied.

    Parameters
    ----------
    action
        Such as allocation.create.
    resource
        What it would be done to: an id, or the name of a project, an organization, a tenant or a
        site; your tenant as a whole if left out.
    someone
        Whose access is explained, as an admin: the id of a user, a key or a service account.
    """
    with session.start(options) as run:
        found = run.client.access.explain(action, resource, actor=someone)
    if options.json:
        screen.document(found)
    else:
        for line in _lines(found):
            screen.line(line)
    return 0 if found["allowed"] else 1


def _lines(found: Explanation) -> list[str]:
    verdict = "allowed" if found["allowed"] else "denied"
    lines = [f"{verdict}: {found['action']} on {found['resource']} by {found['actor']}"]
    if found["policies"]:
        lines.append("by " + ", ".join(found["policies"]))
    elif not found["allowed"]:
        lines.append("no policy permits it")
    if found["needed"]:
        lines.append("any of these roles would permit it:")
        lines += [f"  {n['role']} at {n['scope']} {n['scope_id']}" for n in found["needed"]]
    lines.append(f"decided by revision {found['revision']} of the policies")
    return lines
