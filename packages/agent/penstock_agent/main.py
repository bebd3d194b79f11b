"""The program: says what is wrong and exits with 2, or runs until it is told to stop."""

import asyncio
import json
import os
import signal
import sys
from typing import Final, NoReturn

from penstock_agent import fleet, hosts, logs, options, profiles
from penstock_agent.database import DatabaseUnusable
from penstock_agent.fleet import FolderBusy, TooManyNodes
from penstock_agent.options import Options
from penstock_agent.tokens import TokensUnusable
from penstock_contracts.drivers.chosen import Chosen
from penstock_contracts.drivers.config import Misconfigured
from penstock_contracts.drivers.faults import DriverFault
from penstock_contracts.drivers.host import Hosts
from penstock_contracts.membership import JoinRefused

STOP_S_MAX: Final = 1.5
UNUSABLE: Final = (
    Misconfigured,
    DriverFault,
    TokensUnusable,
    DatabaseUnusable,
    FolderBusy,
    TooManyNodes,
    JoinRefused,
    OSError,
)


def main() -> NoReturn:
    given = options.parse()
    logs.configure()
    try:
        driver = hosts.choose(given)
        if given.check:
            _print_choice(given, driver)
        else:
            asyncio.run(_run(given, driver))
    except UNUSABLE as error:
        _give_up(str(error))
    sys.exit(0)


async def _run(given: Options, driver: Chosen[Hosts]) -> None:
    """Run all nodes until SIGTERM or SIGINT."""
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    running = asyncio.create_task(fleet.run(given, driver))
    stop = asyncio.create_task(stopping.wait())
    await asyncio.wait({running, stop}, return_when=asyncio.FIRST_COMPLETED)
    if not running.done():
        running.cancel()
        await asyncio.wait({running}, timeout=STOP_S_MAX)
        if not running.done():
            os._exit(0)  # everything that matters is in the journal already
    stop.cancel()
    if not running.cancelled():
        running.result()


def _print_choice(given: Options, driver: Chosen[Hosts]) -> None:
    shown: dict[str, object] = {"driver": driver.driver.name}
    if given.simulate:
        profile = profiles.load(given.simulate)
        shown = {"name": profile.name, "gpu_family": profile.gpu_family, "gpus": len(profile.gpus)}
    sys.stdout.write(json.dumps(shown) + "\n")


def _give_up(message: str) -> NoReturn:
    sys.stderr.write(f"penstock-agent: {message}\n")
    sys.exit(2)


if __name__ == "__main__":
    main()
