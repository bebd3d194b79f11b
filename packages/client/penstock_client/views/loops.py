"""The background work of a process."""

from typing import TypedDict


class Loop(TypedDict):
    name: str
    description: str
    plane: str
    replica: str
    running: bool  # now
    last_began_at: str | None
    last_ended_at: str | None
    last_seconds: float | None
    outcome: str  # ok, failed, or waiting: nothing has run there yet, or another replica leads
    error: str
    runs: int
    failures: int
