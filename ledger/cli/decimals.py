"""How a number of any size is written out: with all its digits, whatever exponent it was kept with."""

from decimal import Decimal


def in_digits(number: Decimal) -> str:
    """As Postgres writes it; a driver may keep the zeros at its end in an exponent."""
    return format(number, "f") if number.is_finite() else str(number)
