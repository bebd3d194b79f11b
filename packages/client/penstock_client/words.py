"""Values as people read them: ages, money, lists. Nothing here lets control characters out."""

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final, cast

Row = Mapping[str, object]
NONE: Final = "–"
SYMBOLS: Final = {"USD": "$", "EUR": "€", "GBP": "£"}
UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "m"))
# Control, format (bidirectional overrides), surrogate, line and paragraph separator.
UNPRINTABLE: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def plain(value: object) -> str:
    """Any value on one line, safe for a terminal."""
    if value is None or value == "":
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        return ", ".join(plain(item) for item in items) or NONE
    if isinstance(value, Mapping):
        fields = cast("Row", value)
        return ", ".join(f"{plain(key)}: {plain(fields[key])}" for key in fields) or NONE
    return safe(str(value))


def safe(text: str) -> str:
    """The text with what a terminal would obey written out instead."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(letter) for letter in text)


def _shown(letter: str) -> str:
    if unicodedata.category(letter) not in UNPRINTABLE:
        return letter
    return f"\\x{ord(letter):02x}" if ord(letter) < 256 else f"\\u{ord(letter):04x}"


def instant(value: object) -> datetime | None:
    """The time in an RFC 3339 text, if it is one."""
    if not isinstance(value, str):
        return None
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def age(value: object, now: datetime | None = None) -> str:
    """`3s ago`, `in 59m`; the value itself if it is not a time."""
    at = instant(value)
    if at is None:
        return plain(value)
    seconds = ((now or datetime.now(UTC)) - at).total_seconds()
    if abs(seconds) < 1:
        return "now"
    return f"{duration(seconds)} ago" if seconds > 0 else f"in {duration(-seconds)}"


def aged(seconds: object) -> str:
    """An age that the API computed, in seconds."""
    return f"{duration(float(seconds))} ago" if isinstance(seconds, int | float) else NONE


def duration(seconds: float) -> str:
    """The two largest units that matter: `4s`, `12m`, `3h05m`, `2d04h`."""
    left = int(seconds)
    for index, (size, unit) in enumerate(UNITS):
        if left < size:
            continue
        whole, rest = divmod(left, size)
        finer_size, finer = UNITS[index + 1] if index + 1 < len(UNITS) else (1, "s")
        part = rest // finer_size
        return f"{whole}{unit}{part:02d}{finer}" if part and whole < 10 else f"{whole}{unit}"
    return f"{left}s"


def when(value: object) -> str:
    """A time and its age."""
    at = instant(value)
    return f"{at.isoformat(timespec='seconds')} ({age(value)})" if at else plain(value)


def money(micros: object, currency: object) -> str:
    """`$2.49`, `CHF 0.0125`: never rounded."""
    if not isinstance(micros, int):
        return NONE
    amount = Decimal(micros).scaleb(-6)
    cents = amount.quantize(Decimal("0.01"))
    digits = f"{cents:,}" if cents == amount else f"{amount.normalize():,f}"
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    if currency is None:
        return f"{sign}{digits}"
    symbol = SYMBOLS.get(str(currency)) or f"{plain(currency)} "
    return f"{sign}{symbol}{digits}"


def price(row: Row) -> str:
    micros = row.get("price_micros_per_gpu_hour")
    amount = money(micros, row.get("currency"))
    return amount if amount == NONE else f"{amount}/GPU-h"


def field(key: str, row: Row) -> str:
    """One field of a row, by what its name says it is."""
    if key == "price_micros_per_gpu_hour":
        return price(row)
    if key.endswith("_micros_per_hour"):
        amount = money(row.get(key), row.get("currency"))
        return amount if amount == NONE else f"{amount}/h"
    if key.endswith("_micros"):
        return money(row.get(key), row.get("currency"))
    if key.endswith("_at"):
        return when(row.get(key))
    return plain(row.get(key))


def label(key: str) -> str:
    return safe(
        key.removesuffix("_per_gpu_hour")
        .removesuffix("_per_hour")
        .removesuffix("_micros")
        .replace("_", " ")
    )
