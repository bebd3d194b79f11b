"""R02: claims are atomic, on one node, fenced, and baremetal excludes slices. More with

PENSTOCK_CLAIMS_EXAMPLES=10000 pytest tests/protocol/test_claims_machine.py
"""

import asyncio
import itertools
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from penstock.local.postgres import EmbeddedPostgres
from penstock_contracts import failpoints

from .machine import Claims
from .scene import Place

ASKED = os.environ.get("PENSTOCK_CLAIMS_EXAMPLES")
EXAMPLES = int(ASKED or 50)
# Whoever asks for more also has the time to find the smallest example that fails.
PHASES = (Phase.generate, Phase.shrink) if ASKED else (Phase.generate,)
STEPS = 30
pytestmark = [pytest.mark.timeout(0)] if ASKED else []


def test_whatever_is_done_in_whatever_order_claims_hold(
    server: EmbeddedPostgres,
    templates: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(failpoints.FOLDER, str(tmp_path))
    numbers = itertools.count(1)

    def make() -> str:
        name = f"machine_{next(numbers)}"
        server.create_database(name, template=templates["central"])
        return server.serving_url("central", name)

    def drop(url: str) -> None:
        server.drop_database(url.partition("@/")[2].partition("?")[0])

    with asyncio.Runner() as loop:

        class Machine(Claims):
            place_of = Place(loop, make, drop, tmp_path)

        run_state_machine_as_test(
            Machine,
            settings=settings(
                max_examples=EXAMPLES,
                stateful_step_count=STEPS,
                deadline=None,
                database=None,
                phases=PHASES,
                suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
            ),
        )
