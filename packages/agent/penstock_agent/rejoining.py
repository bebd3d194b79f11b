"""A node that lost its key comes back: with a new key, and evidence of what it is made of.

Its journal is lost as well, so it knows no fence. That is safe: central has every lease that it
held released, and what it is asked from then on has the newest fences.
"""

import asyncio
from pathlib import Path

import structlog
from structlog.typing import FilteringBoundLogger

from penstock_contracts import identity, membership
from penstock_contracts.drivers.host import Host
from penstock_contracts.identity import PrivateKey
from penstock_contracts.join import JoinToken
from penstock_contracts.membership import Member
from penstock_contracts.wire_pb2 import Hardware, Signed, Topology

_log: FilteringBoundLogger = structlog.get_logger()


async def rejoin(folder: Path, token: JoinToken, name: str, host: Host) -> Member:
    """Ask to be the token's node again, and wait until an operator approved it."""
    key = await asyncio.to_thread(PrivateKey.load_or_generate, folder / "key.pem")
    fingerprint = identity.fingerprint(key.public())
    log = _log.bind(node_id=token.rejoins, node=name, key=fingerprint)
    topology = await host.discover()
    last = ""

    def waits(what: str) -> None:
        nonlocal last
        if what != last:  # said once, not at every try
            last = what
            log.warning("node waits to come back", waits_for=what)

    member = await membership.join(
        folder, token, name, evidence=lambda key: evidence(key, token, topology), waits=waits
    )
    log.info("node came back under a new key")
    return member


def evidence(key: PrivateKey, token: JoinToken, topology: Topology) -> Signed:
    hardware = Hardware(node_id=token.rejoins, token_id=token.id, topology=topology)
    return key.sign(hardware.SerializeToString())
