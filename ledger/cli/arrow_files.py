"""An answer as an Arrow or Parquet file, for notebooks and data frames; every number stays what it was.

``pyarrow`` is large, so it comes with an extra of its own: ``ledger-scheduling[arrow]``.
"""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from ledger.cli.decimals import in_digits
from ledger.errors import SetupProblem
from ledger.log.archive.parquet import require as require_pyarrow
from ledger.views.query import Answer

MOST_DIGITS: Final = 76
"""What a decimal of Arrow holds. A column with a larger number is written as text."""


def require(file: Path) -> None:
    """Say what is missing before anything is asked."""
    require_pyarrow("Arrow and Parquet files")
    if not file.resolve().parent.is_dir():
        raise SetupProblem(f"{file}: there is no such directory")


def write_parquet(answer: Answer, file: Path) -> None:
    """Write an answer as a Parquet file."""
    from pyarrow import parquet

    parquet.write_table(table(answer), file)


def write_arrow(answer: Answer, file: Path) -> None:
    """Write an answer as an Arrow file (IPC, uncompressed), which can be mapped into memory."""
    import pyarrow as pa

    told = table(answer)
    with pa.OSFile(str(file), "wb") as out, pa.ipc.new_file(out, told.schema) as writer:
        writer.write_table(told)


def table(answer: Answer) -> Any:
    """The answer in Arrow's types."""
    import pyarrow as pa

    rows = answer.rows
    arrays = [
        _array(type_, [row[place] for row in rows]) for place, type_ in enumerate(answer.types)
    ]
    return pa.Table.from_arrays(arrays, names=list(answer.names))


def _array(type_: str, values: Sequence[Any]) -> Any:
    import pyarrow as pa

    match type_:
        case "int2" | "int4" | "int8":
            return pa.array(values, pa.int64())
        case "float4" | "float8":
            return pa.array(values, pa.float64())
        case "bool":
            return pa.array(values, pa.bool_())
        case "bytea":
            return pa.array(values, pa.binary())
        case "timestamptz" if all(isinstance(one, datetime | None) for one in values):
            return pa.array(values, pa.timestamp("us", tz="UTC"))
        case "date" if all(isinstance(one, date | None) for one in values):
            return pa.array(values, pa.date32())
        case "numeric" if (exact := _decimal(values)) is not None:
            return pa.array(values, exact)
        case _:  # And moments, days and numbers that Arrow does not have.
            return pa.array([None if one is None else _text(one) for one in values], pa.string())


def _text(value: Any) -> str:
    return in_digits(value) if isinstance(value, Decimal) else str(value)


def _decimal(values: Sequence[Decimal | None]) -> Any:
    """The smallest decimal that holds all of these; None where there is none."""
    import pyarrow as pa

    whole, part = 1, 0
    for value in values:
        if value is None:
            continue
        _, digits, exponent = value.as_tuple()
        if not isinstance(exponent, int):  # Not a number, or endless.
            return None
        part = max(part, -exponent)
        whole = max(whole, len(digits) + exponent)
    if whole + part > MOST_DIGITS:
        return None
    return pa.decimal256(whole + part, part) if whole + part > 38 else pa.decimal128(38, part)
