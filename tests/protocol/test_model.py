"""R10: the protocol of claims and of the reaper, searched completely; each rule is needed."""

import re
from pathlib import Path

import pytest

from . import verifier
from .verifier import SpinMissing

# Mutant → the bounds that show it best, and the property that it breaks.
CLAIMS: dict[str, tuple[tuple[str, ...], str]] = {
    "NO_FENCE": (("FAILURES=0", "REPEATS=0"), "TWO TENANTS"),
    "NO_CLOSE": (("FAILURES=0", "REPEATS=0"), "TWO TENANTS"),
    "NO_STOP": (("FAILURES=0", "REPEATS=0"), "TWO TENANTS"),
    "NO_PROOF": (("FAILURES=0", "REPEATS=0"), "TWO TENANTS"),
    "LANE_PER_LEASE": (("FAILURES=0", "REPEATS=1"), "WIPED"),
    "NO_NONCE": ((), "NOT CLEAN"),
    "UNDO_PROVES": ((), "NOT CLEAN"),
    "NO_RETRY": ((), "STUCK"),
}
REAPER = ("DATABASE_FIRST", "CREATE_FIRST", "END_UNGUARDED", "REAP_RESTORED")


@pytest.fixture(scope="module", autouse=True)
def spin() -> None:
    try:
        verifier.provide()
    except SpinMissing as missing:
        pytest.skip(str(missing))


def test_claims_hold_whatever_the_network_does(tmp_path: Path) -> None:
    verdict = verifier.check(tmp_path, "claims.pml")
    assert verdict.broken == ""
    assert verdict.complete
    assert verdict.unreached == (), "a rule that never applies proves nothing"
    assert verdict.states > 100_000


@pytest.mark.parametrize("mutant", CLAIMS)
def test_claims_break_without(mutant: str, tmp_path: Path) -> None:
    bounds, broken = CLAIMS[mutant]
    assert verifier.check(tmp_path, "claims.pml", mutant, *bounds).broken == broken


def test_no_leased_machine_is_reaped(tmp_path: Path) -> None:
    verdict = verifier.check(tmp_path, "reaper.pml")
    assert verdict.broken == ""
    assert verdict.complete
    assert verdict.unreached == ()


@pytest.mark.parametrize("mutant", REAPER)
def test_a_leased_machine_is_reaped_with(mutant: str, tmp_path: Path) -> None:
    assert verifier.check(tmp_path, "reaper.pml", mutant).broken == "REAPED"


def test_in_the_end_no_orphan_is_left(tmp_path: Path) -> None:
    verdict = verifier.check(tmp_path, "reaper.pml", live=True)
    assert verdict.broken == ""
    assert verdict.complete


def test_without_a_reaper_orphans_stay(tmp_path: Path) -> None:
    assert verifier.check(tmp_path, "reaper.pml", "NO_REAPER", live=True).broken == "liveness"


def test_every_mutant_in_a_model_is_tried() -> None:
    tried = {"claims.pml": set(CLAIMS), "reaper.pml": {*REAPER, "NO_REAPER"}}
    for model, mutants in tried.items():
        text = (verifier.MODELS / model).read_text()
        told = set(re.findall(r"^ \*   ([A-Z_]+)  ", text, re.MULTILINE))
        assert told == mutants
