"""Which policies decide: those of the tree, with the rules of the operator's file on top."""

import asyncio
import re
from functools import partial
from pathlib import Path
from typing import Final

from prometheus_client import Counter, Info

from penstock.central.access import rules
from penstock.central.access.engine import Policies, groups
from penstock.central.access.rules import PoliciesInvalid
from penstock.kernel import log, loops
from penstock.kernel.db import Tx
from penstock.kernel.invariants import Invariant
from penstock.kernel.loops import Loop

FOLDER: Final = Path(__file__).parent
TREE: Final = (FOLDER / "policies.cedar").read_text()
SCHEMA: Final = (FOLDER / "policies.cedarschema").read_text()
NAMES: Final = frozenset(re.findall(r'@id\("([^"]*)"\)', TREE))
ACTIONS: Final = frozenset(name for name, within in groups(SCHEMA).items() if within)
RELOADS: Final = Counter("penstock_policies_reloads", "Times the file was read again", ["outcome"])
REVISION: Final = Info("penstock_policies", "The policies in force")
logger = log.get(__name__)


class InForce:
    """`policies` are exchanged as a whole, with all the answers they remember: whoever decides has
    the old ones or the new ones."""

    def __init__(self) -> None:
        if faults := list(rules.invalid(TREE, SCHEMA)):
            raise PoliciesInvalid(f"the policies of the tree cannot be used: {'; '.join(faults)}")
        self._file: Path | None = None
        self._rules = ""
        self._refusal = ""
        self.exchange(Policies(TREE, SCHEMA))

    def exchange(self, policies: Policies) -> None:
        self.policies = policies
        REVISION.info({"revision": policies.revision})

    async def begin(self, file: Path | None) -> None:
        """With the rules of this file, if there is one, from now on. Raises PoliciesInvalid."""
        text, policies = await asyncio.to_thread(load, file)
        self._file, self._rules, self._refusal = file, text, ""
        self.exchange(policies)

    def loop(self, hangups: asyncio.Event) -> Loop:
        return Loop(
            "policies",
            "Reads the file of rules again at a hangup.",
            loops.steady(partial(self.keep, hangups)),
        )

    async def keep(self, hangups: asyncio.Event) -> None:
        """Ensures that the rules are those that the file had at the last hangup, if it was good."""
        while True:
            await hangups.wait()
            hangups.clear()
            await self.reload()

    async def reload(self) -> None:
        """Read the file again. If it cannot be used, what is in force stays so."""
        try:
            await self.begin(self._file)
        except PoliciesInvalid as error:
            self._refusal = str(error)
            RELOADS.labels("refused").inc()
            logger.error("the old policies stay in force", reason=str(error), **self._facts())
        else:
            RELOADS.labels("accepted").inc()
            logger.info("policies read again", **self._facts())

    async def current(self, _tx: Tx) -> Invariant:
        """The rules in force in this process are those that its file has now."""
        fault = await asyncio.to_thread(self._fault)
        found = ({"fault": fault, **self._facts()},) if fault else ()
        return Invariant("policies_current", len(found), found)

    def _fault(self) -> str:
        if self._file is None:
            return ""
        try:
            same = rules.read(self._file) == self._rules
        except PoliciesInvalid as error:
            return str(error)
        return "" if same else self._refusal or "the file was changed; send SIGHUP to this process"

    def _facts(self) -> dict[str, object]:
        return {"file": str(self._file or ""), "revision": self.policies.revision}


def load(file: Path | None) -> tuple[str, Policies]:
    """The text of a file of rules, and the policies with them. Raises PoliciesInvalid."""
    text = "" if file is None else rules.read(file)
    if file is not None:
        rules.check(file, text, SCHEMA, NAMES)
    return text, Policies(TREE, SCHEMA, text)


IN_FORCE: Final = InForce()
