"""``ledger solve``: questions from a pipe, a file or a terminal, answered line by line."""

import json
import sys
import traceback
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, BinaryIO, Final

import typer

from ledger.cli.solve.asking import Refused
from ledger.cli.solve.catalogue import CATALOGUE, Catalogue
from ledger.cli.solve.line import find, reply
from ledger.cli.solve.reading import LONGEST_LINE

MISUSED: Final = 64
OUR_MISTAKE: Final = 70
CANNOT_READ: Final = 78
INTERRUPTED: Final = 130
"""Exit codes, numbered as by every command; ``ledger.cli.run`` would load half of the ledger.

An answer that says no is an answer: a run in which every line was answered ends with 0.
"""


def solve(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="Questions, one JSON object a line; `-` and no file are the standard input.",
            show_default=False,
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Answer in words, with the arithmetic, for people.")
    ] = False,
    list_ops: Annotated[
        bool, typer.Option("--list", help="Print what can be asked, and ask nothing.")
    ] = False,
    schema: Annotated[
        str | None,
        typer.Option("--schema", metavar="OP", help="Print the JSON Schema of an op's input."),
    ] = None,
) -> None:
    """Ask the core: each line is a question, each answer is a line.

    A question is `{"id": ..., "op": "division.static", "input": {...}}`, its answer
    `{"id": ..., "result": {...}}` or `{"id": ..., "error": {"code": ..., "message": ...}}`. A bad
    line is answered like any other. Nothing is stored and no database is needed; docs/solve.md
    tells what can be asked.
    """
    # How long a number may be is decided where it is read; what follows from it is told in full.
    sys.set_int_max_str_digits(0)
    try:
        if list_ops:
            _print_ops()
        elif schema is not None:
            _print_schema(schema)
        else:
            if not files and sys.stdin.isatty():
                _complain("one question a line; Ctrl-D ends")
            failures = answer(files or ["-"], CATALOGUE, sys.stdout.buffer, for_people=explain)
            if failures:
                raise typer.Exit(OUR_MISTAKE)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def answer(
    files: Iterable[str], catalogue: Catalogue, out: BinaryIO, *, for_people: bool = False
) -> int:
    """Answer each line of each file; returns at how many of them we failed."""
    failures = 0
    told: set[str] = set()
    for file in files:
        for number, raw in enumerate(_lines(file), 1):
            said = reply(raw, catalogue, for_people=for_people)
            if said is None:
                continue
            out.write(said.text)
            out.flush()  # Somebody may be waiting for this one before they ask the next.
            if said.failure is not None:
                failures += 1
                trace = _trace(said.failure)
                again = trace in told
                told.add(trace)
                _complain(f"{file}:{number}: {trace.splitlines()[-1] if again else trace}")
    return failures


def _lines(file: str) -> Iterator[bytes]:
    """The lines of a file; of one that is too long only as much as shows that it is."""
    try:
        with nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb") as stream:
            raw = stream.readline(LONGEST_LINE + 1).removeprefix(BOM_UTF8)
            while raw:
                yield raw
                if len(raw) > LONGEST_LINE:
                    while raw and not raw.endswith(b"\n"):
                        raw = stream.readline(LONGEST_LINE)
                raw = stream.readline(LONGEST_LINE + 1)
    except OSError as error:
        _complain(f"{file}: {error.strerror}")
        raise typer.Exit(CANNOT_READ) from None


def _print_ops() -> None:
    ops = CATALOGUE.ops()
    width = max(len(op.name) for op in ops)
    for op in ops:
        typer.echo(f"{op.name:{width}}  {op.about}")


def _print_schema(name: str) -> None:
    try:
        op = find(name, CATALOGUE)
    except Refused as refused:
        _complain(refused.message)
        raise typer.Exit(MISUSED) from None
    document = op.question.model_json_schema() | {"title": op.name, "description": op.about}
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False))


def _complain(what: str) -> None:
    print(f"ledger: {what}", file=sys.stderr)


def _trace(failure: Exception) -> str:
    return "".join(traceback.format_exception(failure)).rstrip()
