"""Ages, money and safety of text, for any value."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_client import words

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "now"),
        (3, "3s ago"),
        (65, "1m05s ago"),
        (3_600, "1h ago"),
        (11_100, "3h05m ago"),
        (864_000, "10d ago"),
        (-3_540, "in 59m"),
    ],
)
def test_an_age_is_told_in_the_units_that_matter(seconds: int, shown: str) -> None:
    assert words.age((NOW - timedelta(seconds=seconds)).isoformat(), NOW) == shown


@pytest.mark.parametrize(
    ("micros", "currency", "shown"),
    [
        (2_490_000, "USD", "$2.49"),
        (12_500, "CHF", "CHF 0.0125"),
        (1_234_567_000_000, "EUR", "€1,234,567.00"),
        (-1, "USD", "-$0.000001"),
        (0, "USD", "$0.00"),
        (None, "USD", "–"),
        (2_490_000, None, "2.49"),
    ],
)
def test_money_is_exact_and_has_its_currency(
    micros: int | None, currency: str | None, shown: str
) -> None:
    assert words.money(micros, currency) == shown


@given(st.recursive(st.none() | st.text() | st.integers() | st.booleans(), st.lists))
def test_any_value_is_one_line_that_a_terminal_does_not_obey(value: object) -> None:
    assert not any(letter in words.plain(value) for letter in "\n\r\x1b\x07\x9b\u202e")
