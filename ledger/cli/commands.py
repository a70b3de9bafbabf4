"""Which commands there are. What each does is in a module of its own, which is loaded when it is asked for.

Whoever types one command would wait longest for the modules of all the others: together they load for
more than a second. So the table below says where a command is, and only ``every_command``, for help,
completion and words that are no command, loads what it names.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any, Final

import typer

from ledger import __version__

MISUSED: Final = 64
"""The exit code of a command that is typed wrongly, or that is asked what means nothing, as sysexits.h numbers
it. The usual 2 says of an audit that the log is not whole."""

_usage_error: Any = (
    typer.BadParameter.__base__
)  # What all mistakes of typing are has no public name.
_usage_error.exit_code = MISUSED

START, STREAM, ASK, RUN = "Start here", "Stream events in", "Ask and audit", "Operate"

COMMANDS: Final[dict[str, tuple[str, Callable[[], Any]]]] = {
    "demo": (START, lambda: _module("demo").demo),
    "up": (START, lambda: _module("operating").up),
    "down": (START, lambda: _module("operating").down),
    "status": (START, lambda: _module("standing").status),
    "ingest": (STREAM, lambda: _module("intake").ingest),
    "consume": (STREAM, lambda: _module("kafka").consume),
    "decide": (STREAM, lambda: _module("deciding").decide),
    "publish": (STREAM, lambda: _module("kafka").publish),
    "serve": (STREAM, lambda: _module("serving").serve),
    "simulate": (STREAM, lambda: _module("simulating").simulate),
    "watch": (ASK, lambda: _module("watching").watch),
    "sql": (ASK, lambda: _module("sql").sql),
    "explain": (ASK, lambda: _module("explain.main").explain),
    "diff": (ASK, lambda: _module("explain.diff").diff),
    "verify": (ASK, lambda: _module("audit").verify),
    "replay": (ASK, lambda: _module("replaying").replay),
    "what-if": (ASK, lambda: _module("what_if.main").what_if),
    "prove": (ASK, lambda: _module("sealing").prove),
    "verify-proof": (ASK, lambda: _module("sealing").verify_proof),
    "solve": (ASK, lambda: _module("solve.main").solve),
    "export": (RUN, lambda: _module("archiving").export),
    "tiles": (RUN, lambda: _module("tiles").tiles),
    "migrate": (RUN, lambda: _module("operating").migrate),
    "maintain": (RUN, lambda: _module("operating").maintain),
    "recover": (RUN, lambda: _module("recovering").recover),
    "seal": (RUN, lambda: _module("sealing").seal),
    "witness": (RUN, lambda: _module("sealing").witness),
    "key": (RUN, lambda: _module("sealing").key_app),
    "quarantine": (RUN, lambda: _module("quarantine").app),
    "partitions": (RUN, lambda: _module("kafka").partitions_app),
    "fleets": (RUN, lambda: _module("intake").fleets_app),
    "readers": (RUN, lambda: _module("readers").app),
    "bench": (RUN, lambda: _module("bench.main").app),
}
"""The panel under which each is listed, and how its function or group of commands is come by."""


def _module(name: str) -> Any:
    return import_module(f"ledger.cli.{name}")


def every_command() -> typer.Typer:
    """The ``ledger`` command with all that it can do."""
    return _app(tuple(COMMANDS))


def as_asked(words: Sequence[str]) -> typer.Typer:
    """The ``ledger`` command with what these words, as typed behind it, ask for."""
    asked = words[0] if words else ""
    return _app((asked,)) if asked in COMMANDS else every_command()


def _app(names: Sequence[str]) -> typer.Typer:
    app = typer.Typer(
        name="ledger",
        help=(
            "An event-sourced scheduling ledger: clusters stream what happened, one log fixes the"
            " order, decisions follow that anyone can recompute.\n\n"
            "Start with `ledger demo`."
        ),
        no_args_is_help=True,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    for name in names:
        panel, load = COMMANDS[name]
        found = load()
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name, rich_help_panel=panel)
        else:
            app.command(name, rich_help_panel=panel)(found)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ledger {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Options of the command itself."""
