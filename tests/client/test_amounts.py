"""Money as people write it: exact, or refused."""

import pytest

from penstock_client import amounts
from penstock_client.errors import Misused


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("0", 0),
        ("2.49", 2_490_000),
        ("0.000001", 1),
        ("1000000000000", 10**18),
        ("2.50000000000000000000000000", 2_500_000),
        ("007.10", 7_100_000),
    ],
)
def test_an_amount_is_read_exactly(text: str, micros: int) -> None:
    assert amounts.micros_of(text, "--price") == micros


@pytest.mark.parametrize(
    "text", ["-1", "0.0000001", "2.00000000000000000000000000001", "-0.000001"]
)
def test_what_would_be_rounded_or_is_negative_is_refused(text: str) -> None:
    with pytest.raises(Misused, match="negative or finer than a millionth"):
        amounts.micros_of(text, "--price")


@pytest.mark.parametrize(
    "text", ["", "abc", "1e3", "1/3", "NaN", "Infinity", "1_000", "1,5", " 1", "٣", "1.", "9" * 31]
)
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(Misused, match="is not an amount such as"):
        amounts.micros_of(text, "--price")
