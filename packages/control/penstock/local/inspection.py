"""A data folder before anything is started on it: whole, or refused by the name of what is not.

Nothing is changed. What a plane finds in its own files it says itself; here is what only the whole
folder shows, and what would make `penstock up` wait for ever.
"""

from pathlib import Path

from penstock.local import home, passwords
from penstock.local.errors import Refused
from penstock_contracts import membership
from penstock_contracts.files import Damaged


def refuse_damage(data: Path, *, embedded: bool) -> None:
    """`embedded` says that the database is in the folder, too."""
    try:
        joined = membership.load(data / "site" / "membership") is not None
        for node in sorted((data / "agent" / "nodes").glob("*")):
            membership.load(node)
        if embedded and (password := data / "postgres" / "password").exists():
            passwords.read(password)
    except Damaged as error:
        raise Refused(str(error)) from error
    if not joined:
        return
    # What it joined must be there.
    _refuse_absence(data / "up.json", "its site and nodes know no other ports than those in it")
    _refuse_absence(data / "central" / "ca-key.pem", "its site and nodes trust no other root")
    if embedded:
        folder = home.database_folder(data / "postgres")
        _refuse_absence(folder, "its site and nodes are known in no other database")


def _refuse_absence(path: Path, why: str) -> None:
    if not path.exists():
        raise Refused(
            f"{path} is gone, and {why}: put back a copy, or begin anew with another --data"
        )
