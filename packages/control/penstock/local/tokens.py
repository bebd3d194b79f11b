"""Join tokens for this machine's site and nodes: asked for once, kept until they are used.

A token that was handed out stays the member's token until it has joined or the token
runs out, so a run that ends halfway through a join goes on with the same one.
"""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, cast

from penstock_client.views.fleet import JoinToken
from penstock_contracts import files

MARGIN: Final = timedelta(minutes=2)
Issue = Callable[[int], Sequence[JoinToken]]


def node_folder(agent: Path, number: int) -> Path:
    return agent / "nodes" / node_name(number)


def node_name(number: int) -> str:
    return f"node-{number:04d}"


def write_for_site(site: Path, issue: Issue) -> None:
    """Ensures that a site that has not joined finds its token in SITE/join-token."""
    if any(site.rglob("membership.json")):
        return
    held = _hold(site / "issued.json", ["site"], issue)
    files.write_private(site / "join-token", f"{held['site']}\n".encode())


def write_for_nodes(agent: Path, nodes: int, issue: Issue) -> None:
    """Ensures AGENT/tokens: line i is for node i, and blank if it has joined."""
    names = [node_name(number) for number in range(1, nodes + 1)]
    waiting = [name for name in names if not (agent / "nodes" / name / "membership.json").exists()]
    held = _hold(agent / "issued.json", waiting, issue)
    lines = "".join(f"{held.get(name, '')}\n" for name in names)
    files.write_private(agent / "tokens", lines.encode())


def _hold(path: Path, waiting: Sequence[str], issue: Issue) -> dict[str, str]:
    """A usable token for each that waits, from `path` where it is still good."""
    held = {name: token for name, token in _read(path).items() if name in waiting and _good(token)}
    missing = [name for name in waiting if name not in held]
    if missing:
        held.update(zip(missing, issue(len(missing)), strict=True))
    files.write_private(path, json.dumps(held).encode())
    return {name: token["token"] for name, token in held.items()}


def _read(path: Path) -> dict[str, JoinToken]:
    try:
        found: object = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return cast("dict[str, JoinToken]", found) if isinstance(found, dict) else {}


def _good(token: JoinToken) -> bool:
    try:
        expires_at = datetime.fromisoformat(token["expires_at"])
        return bool(token["token"]) and expires_at > datetime.now(UTC) + MARGIN
    except (KeyError, ValueError, TypeError):
        return False
