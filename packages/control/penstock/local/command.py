"""`penstock up`: the whole platform on this machine, for as long as it is wanted."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number


def up(
    *,
    data: Path = Path(".penstock"),
    port: Annotated[int, Parameter(validator=Number(gte=0, lte=65_535))] = 8080,
    nodes: Annotated[int, Parameter(validator=Number(gte=1, lte=100_000))] = 4,
    hardware: str = "h100-8",
    demo: bool = False,
    delay_ms: Annotated[int | None, Parameter(validator=Number(gte=0))] = None,
    faults: Path | None = None,
    postgres_bin: Path | None = None,
    verbose: Annotated[bool, Parameter(alias="-v")] = False,
) -> None:
    """Run the whole platform on this machine: database, central, a site and its nodes.

    When all are ready, DATA/ready.json says where the API is and with which token.
    Ctrl-C stops everything; a later `penstock up` on the same folder goes on from there.

    Parameters
    ----------
    data
        Folder that everything is kept in.
    port
        Port of the API on 127.0.0.1; 0 picks a free one.
    nodes
        How many nodes to simulate. More may be added later.
    hardware
        What each node is: a profile's name, or a profile's file.
    demo
        Lease two GPUs, show each step, give them back.
    delay_ms
        How long a simulated host takes for each task.
    faults
        JSON file of faults that the simulated hosts shall have.
    postgres_bin
        Folder of a system's Postgres programs (15 or newer) to use instead of our own.
    verbose
        Show what every process logs.
    """
    # Imported late: naming the command in --help needs none of it.
    from penstock.local import run
    from penstock.local.options import Options
    from penstock.local.screen import Screen
    from penstock_client import screen as client_screen
    from penstock_contracts import lossy

    # Whoever reads this may stop reading, or its disk be full: the platform goes on.
    shown = lossy.on(sys.stdout, lambda lines: f"({lines} lines were not shown)\n")
    screen = Screen(client_screen.console(shown), verbose=verbose)
    options = Options(data, port, nodes, hardware, demo, delay_ms, faults, postgres_bin)
    sys.exit(asyncio.run(run.run(options, screen)))
