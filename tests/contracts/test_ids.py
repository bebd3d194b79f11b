"""Typed ids: what is made can be read back, and nothing else can."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_contracts import ids
from penstock_contracts.ids import SUFFIX_LENGTH, EventId, Id, InvalidId

KINDS = sorted(Id.__subclasses__(), key=lambda kind: kind.prefix)
kinds = st.sampled_from(KINDS)


def decode(suffix: str) -> int:
    value = 0
    for letter in suffix:
        value = value << 5 | ids.VALUES[letter]
    return value


@given(st.integers(0, (1 << 128) - 1))
def test_every_value_comes_back_from_its_suffix(value: int) -> None:
    suffix = ids.encode(value)
    assert ids.is_suffix(suffix)
    assert decode(suffix) == value


@given(st.integers(0, (1 << 128) - 1), st.integers(0, (1 << 128) - 1))
def test_ids_sort_as_their_values_do(one: int, other: int) -> None:
    assert (ids.encode(one) < ids.encode(other)) == (one < other)


@given(st.integers(0, (1 << 48) - 1), st.binary(min_size=10, max_size=10))
def test_a_uuid7_says_its_time_version_and_variant(now_ms: int, entropy: bytes) -> None:
    value = ids.uuid7(now_ms, entropy)
    assert value >> 80 == now_ms
    assert value >> 76 & 0xF == 7
    assert value >> 62 & 0b11 == 2
    assert value < 1 << 128


@given(kinds)
def test_a_new_id_parses_as_its_kind_and_as_no_other(kind: type[Id]) -> None:
    made = kind.new()
    assert kind.parse(made) == made
    assert made == f"{kind.prefix}_{made.suffix}"
    for other in KINDS:
        if other is not kind:
            with pytest.raises(InvalidId):
                other.parse(made)


@given(kinds, st.text())
def test_text_that_is_no_id_is_refused(kind: type[Id], text: str) -> None:
    prefix, _, suffix = text.rpartition("_")
    if prefix == kind.prefix and ids.is_suffix(suffix):
        return
    with pytest.raises(InvalidId):
        kind.parse(text)


@pytest.mark.parametrize(
    "suffix",
    ["", "0" * 25, "0" * 27, "8" + "0" * 25, "i" + "0" * 25, "0" * 25 + "L", "0" * 25 + "\n"],
)
def test_a_suffix_with_anything_wrong_is_refused(suffix: str) -> None:
    with pytest.raises(InvalidId):
        ids.NodeId.parse(f"node_{suffix}")


def test_prefixes_are_unique() -> None:
    assert len({kind.prefix for kind in KINDS}) == len(KINDS) >= 11


def test_a_forked_process_makes_ids_of_its_own() -> None:
    EventId.new()  # so that there is something left over to be shared
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.write(write, "".join(EventId.new().suffix for _ in range(50)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(read, 65_536).decode()
    os.close(read)
    os.close(write)
    ours = {EventId.new().suffix[10:] for _ in range(50)}  # all that is not the time
    made = [theirs[at : at + SUFFIX_LENGTH] for at in range(0, len(theirs), SUFFIX_LENGTH)]
    assert len(made) == 50
    assert not ours.intersection(each[10:] for each in made)
