"""What is wrong with a simulated host, as facts. Pure."""

from collections.abc import Iterable, Mapping

from penstock_agent.simulated.faults import Ailment
from penstock_agent.simulated.hardware import Hardware
from penstock_contracts.drivers.host import Fact

Symptoms = dict[tuple[str, str], Fact]


def of(hardware: Hardware, ailments: Iterable[Ailment], ended: Mapping[str, str]) -> Symptoms:
    """Every check that does not pass."""
    facts = [_of_ailment(hardware, ailment) for ailment in ailments]
    facts += [Fact("runtime.running", id, passed=False, detail=why) for id, why in ended.items()]
    return {(fact.check, fact.subject): fact for fact in facts}


def changes(before: Symptoms, now: Symptoms) -> list[Fact]:
    """What differs: each that is new or another, and each that passes again."""
    fresh = [fact for key, fact in now.items() if before.get(key) != fact]
    mended = [Fact(check, subject, passed=True) for check, subject in before.keys() - now.keys()]
    return fresh + mended


def _of_ailment(hardware: Hardware, ailment: Ailment) -> Fact:
    known = 0 <= ailment.gpu < len(hardware.slots)
    subject = hardware.slots[ailment.gpu].gpu_uuid if known else ""
    return Fact(ailment.check, subject, passed=False, detail=ailment.detail)
