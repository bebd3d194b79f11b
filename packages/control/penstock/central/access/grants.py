"""What was granted to someone, read by the same statement that says who they are."""

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from penstock.kernel.actor import Conditions, Grant
from penstock.kernel.db import Tx


def sql(*subjects: str) -> str:
    """A column of everything bound to one of these ids, or to a group that one is in.

    Any of the ids may be null.
    """
    ids = f"ARRAY[{', '.join(subjects)}]"
    return f"""
        (SELECT jsonb_agg(jsonb_build_array(b.role, b.scope, b.scope_id, b.conditions))
        FROM role_bindings b WHERE b.subject_id = ANY({ids} || ARRAY(
            SELECT m.group_id FROM group_members m WHERE m.member_id = ANY({ids}))))
    """  # noqa: S608 # names of columns


def read(column: object) -> frozenset[Grant]:
    """From what `sql` says."""
    rows = cast("Iterable[tuple[str, str, str, Mapping[str, Sequence[object]]]]", column or ())
    return frozenset(
        Grant(role, level, place, conditions(given)) for role, level, place, given in rows
    )


async def of(tx: Tx, id: str) -> frozenset[Grant]:
    """All that is bound to someone, or to a group that they are in; of a group, all it has."""
    return read(await tx.fetchval(f"SELECT {sql('$1::text')}", id))


def conditions(given: Mapping[str, Sequence[object]]) -> Conditions:
    """As an actor carries them: in one order, whatever order they were written in."""
    return tuple((name, tuple(str(v) for v in given[name])) for name in sorted(given))
