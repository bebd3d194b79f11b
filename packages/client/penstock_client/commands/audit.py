"""`penstock audit`: who did what, and whether the log of it is whole."""

import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Annotated, Final

from cyclopts import App, Parameter

from penstock_client import answers, errors, screen, session, verifying
from penstock_client.api import Client
from penstock_client.chains import Fault, Line
from penstock_client.exports import Export
from penstock_client.options import UNSET, Options
from penstock_client.screen import aged, column
from penstock_client.verifying import Verified

app = App(name="audit", help="Audit: who did what, and who was denied what.")
COLUMNS: Final = (
    column("SEQ", "seq", right=True),
    aged("WHEN", "at"),
    column("ACTOR", "actor"),
    column("ACTION", "action"),
    column("SUBJECT", "subject"),
    column("REASON", "reason"),
    column("DETAIL", "detail"),
)
FAULTS_MAX: Final = 50


@app.command
def ls(
    *,
    actor: str | None = None,
    action: str | None = None,
    subject: str | None = None,
    tenant: str | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: int = 50,
    options: Options = UNSET,
) -> None:
    """List entries, the newest first.

    Parameters
    ----------
    actor
        Only what this one did (key:key_…, system:central).
    action
        Only this (quota.set); access.denied is what was not permitted.
    subject
        Only what was done to this thing, by its id.
    tenant
        Only what concerns this tenant.
    since
        Not before this time (2026-01-31T12:00:00Z).
    until
        Before this time.
    limit
        At most this many.
    """
    with session.start(options) as run:
        page = run.client.audit.list(
            actor=actor, action=action, subject=subject, tenant=tenant,
            since=since, until=until, limit=limit,
        )  # fmt: skip
    answers.listing(options, {**page, "next": None}, COLUMNS, empty="there is no such entry")
    if page["next"] is not None:
        screen.note(f"these are the newest {limit}: --limit shows more, --since and --until others")


@app.command
def export(*, after: int = 0, options: Options = UNSET) -> None:
    """Print the chain as JSON lines with their hashes, as it is in object storage.

    Parameters
    ----------
    after
        Begin after the entry with this number.
    """
    with session.start(options) as run:
        for line in run.client.audit.lines(after=after):
            sys.stdout.write(f"{line}\n")


@app.command
def verify(
    *,
    against: str | None = None,
    ca: Annotated[Path | None, Parameter(name="--ca")] = None,
    options: Options = UNSET,
) -> int:
    """Check that no entry was changed, removed, added or moved. Exits with 1 if one was.

    Parameters
    ----------
    against
        Recompute every hash here, and compare the log with its export at this URL
        (file:///…, s3://bucket/prefix). Without it, the platform recomputes them.
    ca
        The platform's CA certificate (ca.pem), to check who signed the export's checkpoint.
    """
    if ca is not None and against is None:
        raise errors.Misused("--ca is about the export's checkpoint: say --against URL, too")
    with session.start(options) as run:
        if against is None:
            return platforms_word(run.client, options)
        return own_eyes(run.client, Export(against), _read(ca), options)


def platforms_word(client: Client, options: Options) -> int:
    faults: list[Fault] = []
    after = 0
    while True:
        part = client.audit.verify(after=after)
        faults += [Fault(f"entry {each['seq']}", each["fault"]) for each in part["faults"]]
        if part["next"] is None or len(faults) > FAULTS_MAX:
            break
        after = part["next"]
    head, exported = part["head"], part["export"]
    if exported["fault"]:
        faults.append(Fault("the export", exported["fault"]))
    summary = f"{head['seq']} entries, of which {exported['seq']} are exported"
    return _tell(options, faults, summary, head=head, export=exported)


def own_eyes(client: Client, export: Export, certificate: bytes | None, options: Options) -> int:
    said = client.audit.verify(limit=1)
    done = Verified()
    found = verifying.verify(
        export, _logged(client), claimed=said["export"]["seq"], certificate=certificate, to=done,
        start=said["start"]["seq"],
    )  # fmt: skip
    faults = list(islice(found, FAULTS_MAX))
    signed = {True: "signed", False: "not signed", None: "its signature was not checked: no --ca"}
    summary = (
        f"{done.logged} entries in the log, {done.exported} in the export, "
        f"its checkpoint at {done.checkpoint} ({signed[done.signed]})"
    )
    return _tell(options, faults, summary, **asdict(done))


def _logged(client: Client) -> Iterator[Line]:
    for text in client.audit.lines():
        yield Line(text, "the log")


def _tell(options: Options, faults: list[Fault], summary: str, **facts: object) -> int:
    if options.json:
        screen.document({**facts, "faults": [asdict(fault) for fault in faults]})
    else:
        for fault in faults:
            screen.line(f"{fault.where}: {fault.what}")
        screen.note(f"{summary}: " + (f"{len(faults)} faults" if faults else "all as they were"))
    return errors.REFUSED if faults else errors.OK


def _read(path: Path | None) -> bytes | None:
    try:
        return None if path is None else path.read_bytes()
    except OSError as error:
        raise errors.Misused(f"{path} cannot be read: {error.strerror}") from None
