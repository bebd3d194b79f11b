"""The command line."""

import argparse
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

NODES_MAX: Final = 10_000
DELAY_MS_MAX: Final = 600_000
NAME_PREFIX: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")


@dataclass(frozen=True)
class Options:
    data: Path | None
    token_file: Path | None
    simulate: str | None
    drivers: Path | None
    nodes: int
    name_prefix: str
    faults: Path | None
    delay_ms: int
    health_port: int | None
    check: bool

    def node_name(self, number: int) -> str:
        return f"{self.name_prefix}-{number:04d}"


def parse(arguments: list[str] | None = None) -> Options:
    """Exits with 2 and a message if the arguments make no sense."""
    parser = _parser()
    given = parser.parse_args(arguments, Given())
    if not NAME_PREFIX.fullmatch(given.name_prefix):
        parser.error("--name-prefix must be 1 to 40 small letters, digits and dashes")
    if given.data is None and not given.check:
        parser.error("--data is needed: the folder that keeps this agent's keys and journal")
    return Options(
        data=given.data,
        token_file=given.token_file,
        simulate=given.simulate,
        drivers=given.drivers,
        nodes=given.nodes,
        name_prefix=given.name_prefix,
        faults=given.faults,
        delay_ms=given.delay_ms,
        health_port=given.health_port,
        check=given.check,
    )


class Given(argparse.Namespace):
    """What argparse fills in, typed."""

    data: Path | None
    token_file: Path | None
    simulate: str | None
    drivers: Path | None
    nodes: int
    name_prefix: str
    faults: Path | None
    delay_ms: int
    health_port: int | None
    check: bool


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("penstock-agent", description="Penstock's node agent.")
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="keys, memberships and the journal")
    add("--token-file", type=Path, metavar="FILE", help="join tokens; line i is node i's")
    add("--simulate", metavar="PROFILE", help="a hardware profile: its name or its file")
    add("--drivers", type=Path, metavar="FILE", help="or a TOML file with a table [host.DRIVER]")
    add("--nodes", type=_whole(1, NODES_MAX), default=1, metavar="N", help="simulated nodes")
    add("--name-prefix", default="node", metavar="TEXT", help="names are TEXT-0001 and on")
    add("--faults", type=Path, metavar="FILE", help="faults to inject; SIGHUP reads it again")
    add("--delay-ms", type=_whole(0, DELAY_MS_MAX), default=0, metavar="N", help="per task")
    add("--health-port", type=_whole(1, 65_535), metavar="N", help="/healthz on 127.0.0.1")
    add("--check", action="store_true", help="check the profile and the faults, then exit")
    return parser


class _whole:  # noqa: N801 reads as the type that it is to argparse
    """A whole number within bounds."""

    def __init__(self, least: int, most: int) -> None:
        self._least, self._most = least, most

    def __call__(self, text: str) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > 9:
            raise argparse.ArgumentTypeError(f"{text[:32]!r} is not a whole number")
        if not self._least <= int(text) <= self._most:
            raise argparse.ArgumentTypeError(f"must be from {self._least} to {self._most}")
        return int(text)
