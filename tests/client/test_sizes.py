"""Sizes, as they are written and read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_client import sizes
from penstock_client.errors import Misused


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0), ("4096", 4096), ("7B", 7), ("1kB", 1000), ("1KiB", 1024), ("500GB", 500 * 10**9),
        ("2TiB", 2**41), ("2 TiB", 2**41), ("1.5TiB", 3 * 2**39), ("0.000000001GB", 1),
        ("7PiB", 7 * 2**50), ("9007199254740991", 2**53 - 1),
        ("12345678901234567890.123456789GB", 12345678901234567890123456789),
    ],
)  # fmt: skip
def test_a_size_is_read_exactly(text: str, size: int) -> None:
    assert sizes.bytes_of(text, "--volumes") == size


@pytest.mark.parametrize("text", ["0.5", "0.1KiB", "1.0001kB", "12345678901234567890.000000001kB"])
def test_a_part_of_a_byte_is_refused(text: str) -> None:
    with pytest.raises(Misused, match="not a whole number of bytes"):
        sizes.bytes_of(text, "--volumes")


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 B"), (17, "17 B"), (2**41, "2 TiB"), (500 * 10**9, "500 GB"), (-(2**30), "-1 GiB")],
)
def test_a_size_is_said_in_its_largest_unit(count: int, said: str) -> None:
    assert sizes.said(count) == said


@given(st.integers(0, 2**53 - 1) | st.integers(0, 2**13).map(lambda n: n << 40))
def test_what_is_said_can_be_written(count: int) -> None:
    assert sizes.bytes_of(sizes.said(count), "--volumes") == count
