"""Which driver looks after this machine's hosts: the simulated one, or what a file chooses."""

from typing import Final

from penstock_agent.options import Options
from penstock_contracts.drivers import chosen
from penstock_contracts.drivers.chosen import Chosen
from penstock_contracts.drivers.config import Misconfigured
from penstock_contracts.drivers.host import HOST, Hosts

NOTHING: Final = (
    "no host driver is chosen: name a hardware profile with --simulate, or a file that has a table "
    "[host.…] with --drivers"
)


def choose(given: Options) -> Chosen[Hosts]:
    """Raises Misconfigured with all that is wrong."""
    if given.simulate is not None:
        return _simulated(given, given.simulate)
    if given.drivers is None:
        raise Misconfigured([NOTHING])
    found = chosen.read(HOST, chosen.load(given.drivers), str(given.drivers))
    if len(found) != 1:
        raise Misconfigured(
            [f"{given.drivers}: host: one driver looks after a machine; {len(found)} are chosen"]
        )
    (one,) = found.values()
    return one


def _simulated(given: Options, profile: str) -> Chosen[Hosts]:
    """`--simulate` is short for a file with this table."""
    table: dict[str, object] = {
        "profile": profile,
        "data": str(given.data or "."),
        "delay_ms": given.delay_ms,
    }
    if given.faults:
        table["faults"] = str(given.faults)
    return chosen.read(HOST, {"host": {"simulated": table}}, "--simulate")["simulated"]
