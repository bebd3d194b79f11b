"""Ensures that the newest revision of every document has its workflow.

A workflow is a saga, in one of its versions, on one revision of a document: its id is made from
these, so however often it is started, it runs once. It keeps its version's steps for as long as it
runs. One whose version the code no longer has is handed over to the newest.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from dbos import DBOS, SetWorkflowID

from penstock.kernel import log, loops
from penstock.kernel.db import Database, Tx
from penstock.kernel.loops import Idle, Loop
from penstock.kernel.wakeups import Wakeups
from penstock.site.documents import service
from penstock.site.documents.model import Document, Standing
from penstock.site.sagas.kinds import Kinds
from penstock.site.sagas.model import Saga, Steps
from penstock.site.sagas.running import Run
from penstock.site.sagas.watching import Watch
from penstock_contracts.failpoints import Failpoint

RECEIVED: Final = Failpoint("site.document.received")
STARTED: Final = Failpoint("site.document.started")
RECOVERIES_MAX: Final = 1_000_000  # a workflow is never given up
NAME: Final = "document"
logger = log.get(__name__)

Input = tuple[str, str, int, str, bytes]  # a document, as plain values
Workflow = Callable[[Input, str, int], Coroutine[Any, Any, str]]


@dataclass(frozen=True)
class Id:
    """What a workflow is for; its text is its id."""

    kind: str
    key: str
    revision: int
    saga: str
    version: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.key}:{self.revision}:{self.saga}:{self.version}"

    @classmethod
    def parse(cls, text: str) -> "Id":
        """Raises ValueError if it is none."""
        kind, key, revision, saga, version = text.split(":")
        return cls(kind, key, int(revision), saga, int(version))


class Workflows:
    """Made before the engine is launched, so that it can resume what a crash left behind."""

    def __init__(self, database: Database, wakeups: Wakeups, kinds: Kinds) -> None:
        self._database = database
        self._wakeups = wakeups
        self._kinds = kinds

        @DBOS.workflow(name=NAME, max_recovery_attempts=RECOVERIES_MAX)
        async def workflow(given: Input, saga: str, version: int) -> str:
            return await self._run(given, saga, version)

        self._workflow: Workflow = workflow

    def loop(self) -> Loop:
        """Told when a document arrives; looks once at the start for what a crash left behind."""
        return Loop(
            "documents",
            "Starts the workflow of every document's newest revision.",
            loops.reconcile(self.ensure_started, self._wakeups, (service.DESIRED,)),
        )

    async def ensure_started(self) -> Idle:
        known = self._kinds.by_name
        for document in await self._database.run(lambda tx: service.unstarted(tx, known)):
            RECEIVED.hit()
            version = await self._start(document)
            STARTED.hit()
            await self._database.run(partial(_started, document, version))
        return loops.UNTIL_TOLD

    async def _start(self, document: Document) -> int:
        """In its newest version."""
        kind = self._kinds.by_name[document.kind]
        saga = kind.saga_for(kind.decode(document))
        id = Id(document.kind, document.key, document.revision, saga.name, saga.version)
        given = (
            document.kind, document.key, document.revision, document.correlation_id, document.body,
        )  # fmt: skip
        with SetWorkflowID(str(id)):
            await DBOS.start_workflow_async(self._workflow, given, saga.name, saga.version)
        return saga.version

    async def _run(self, given: Input, saga: str, version: int) -> str:
        document = Document(*given)
        found = self._find(document.kind, saga, version)
        if found is None:
            return await self._hand_over(document, saga, version)
        subject = self._kinds.by_name[document.kind].decode(document)
        with self._wakeups.subscribe(service.changed(document.kind, document.key)) as told:
            told.set()  # something may have been told while nobody listened
            watch = Watch(self._database, document, version, told)
            return await Run(*found, subject, watch).go()

    def _find(self, kind: str, name: str, version: int) -> tuple[Saga[Any], Steps[Any]] | None:
        known = self._kinds.by_name.get(kind)
        saga = known.saga(name) if known else None
        steps = saga.steps_of(version) if saga else None
        return (saga, steps) if saga and steps else None

    async def _hand_over(self, document: Document, name: str, version: int) -> str:
        """To the newest version. Nothing is asked of the engine here: what it recorded of this
        workflow belongs to steps that are no more."""
        known = self._kinds.by_name.get(document.kind)
        saga = known.saga(name) if known else None
        about = {"kind": document.kind, "key": document.key, "saga": name, "version": version}
        if known is None or (saga is not None and version > saga.version):
            logger.warning("this process is too old for a workflow: it waits for another", **about)
            await asyncio.Event().wait()
        logger.warning("handed over to the newest version", **about)
        try:
            await self._database.run(
                lambda tx: service.hand_over(tx, document.kind, document.key, document.revision)
            )
        except service.NotNewest:
            return str(Standing.SUPERSEDED)
        return str(Standing.HANDED_OVER)


async def _started(document: Document, version: int, tx: Tx) -> None:
    await service.started(tx, document, version)
