"""Money as people write it, in whole micros."""

from decimal import Decimal, InvalidOperation

from penstock_client import errors


def micros_of(text: str, option: str) -> int:
    """Exact or refused: money is never rounded."""
    try:
        micros = Decimal(text).scaleb(6)
        whole = int(micros)
    except (InvalidOperation, ValueError, OverflowError) as error:
        raise errors.Misused(f"{option} {text!r} is not an amount such as 2.49") from error
    if micros != whole or whole < 0:
        raise errors.Misused(f"{option} {text!r} is negative or finer than a millionth")
    return whole
