"""The chain of hashes: what a verifier makes of lines that somebody else gave it."""

import hashlib
import json

from hypothesis import given
from hypothesis import strategies as st

from penstock_client.chains import START, Chain, Line, compare


def lines(count: int, *, said: str = "é\u2028", begin: bytes = START) -> list[Line]:
    made: list[Line] = []
    hash = begin
    for seq in range(1, count + 1):
        entry = json.dumps([seq, None, "key:1", said], ensure_ascii=False)
        hash = hashlib.sha256(hash + entry.encode()).digest()
        text = f'{{"seq": {seq}, "hash": "{hash.hex()}", "entry": {entry}}}'
        made.append(Line(text, "here"))
    return made


def faults(given: list[Line]) -> list[str]:
    chain = Chain()
    return [fault.what for line in given if (fault := chain.follow(line)) is not None]


def test_a_whole_chain_has_no_fault() -> None:
    assert faults(lines(9)) == []
    assert list(compare(lines(5), lines(9))) == [], "what is not exported yet is no fault"


def test_a_chain_that_begins_elsewhere_is_found() -> None:
    assert faults(lines(2, begin=b"\x01")) == ["entry 1 is not what its hash was made from"]


def test_an_entry_under_another_number_is_found() -> None:
    """The hash covers the number, but the line says another one."""
    one, two = lines(2)
    relabelled = Line(one.text.replace('"seq": 1', '"seq": 2'), "here")
    assert faults([one, relabelled]) == ["entry 2 is not what its hash was made from"]
    assert faults([two]) == ["the entries from 1 to 1 are missing"]


@given(st.integers(0, 7), st.data())
def test_any_changed_character_is_found(which: int, data: st.DataObject) -> None:
    whole = lines(8)
    text = whole[which].text
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters(exclude_characters=text[place]))
    whole[which] = Line(text[:place] + other + text[place + 1 :], "here")
    assert faults(whole)
    assert list(compare(lines(8), whole))
    assert list(compare(whole, lines(8)))


@given(st.permutations(range(6)))
def test_any_other_order_is_found(order: list[int]) -> None:
    whole = lines(6)
    assert bool(faults([whole[place] for place in order])) is (order != sorted(order))


@given(st.sets(st.integers(0, 5)))
def test_any_lines_that_are_gone_are_found(gone: set[int]) -> None:
    left = [line for place, line in enumerate(lines(6)) if place not in gone]
    assert bool(list(compare(lines(6), left))) is bool(gone)


@given(st.text(max_size=80))
def test_anything_else_is_no_line(text: str) -> None:
    assert faults([Line(text, "here")])
