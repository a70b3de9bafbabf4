"""Which commands there are. What each does is in a module of its own."""

from typing import Annotated

import typer

from ledger import __version__
from ledger.cli import (
    archiving,
    audit,
    deciding,
    demo,
    intake,
    kafka,
    operating,
    quarantine,
    readers,
    recovering,
    replaying,
    sealing,
    serving,
    simulating,
    sql,
    standing,
    watching,
)
from ledger.cli.bench import main as bench
from ledger.cli.explain import diff as differing
from ledger.cli.explain import main as explaining
from ledger.cli.solve import main as solving
from ledger.cli.what_if import main as what_if

app = typer.Typer(
    name="ledger",
    help=(
        "An event-sourced scheduling ledger: clusters stream what happened, one log fixes the order,"
        " decisions follow that anyone can recompute.\n\n"
        "Start with `ledger demo`."
    ),
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ledger {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Options of the command itself."""


START, STREAM, ASK, RUN = "Start here", "Stream events in", "Ask and audit", "Operate"

app.command("demo", rich_help_panel=START)(demo.demo)
app.command("up", rich_help_panel=START)(operating.up)
app.command("down", rich_help_panel=START)(operating.down)
app.command("status", rich_help_panel=START)(standing.status)
app.command("ingest", rich_help_panel=STREAM)(intake.ingest)
app.command("consume", rich_help_panel=STREAM)(kafka.consume)
app.command("decide", rich_help_panel=STREAM)(deciding.decide)
app.command("publish", rich_help_panel=STREAM)(kafka.publish)
app.command("serve", rich_help_panel=STREAM)(serving.serve)
app.command("simulate", rich_help_panel=STREAM)(simulating.simulate)
app.command("watch", rich_help_panel=ASK)(watching.watch)
app.command("sql", rich_help_panel=ASK)(sql.sql)
app.command("explain", rich_help_panel=ASK)(explaining.explain)
app.command("diff", rich_help_panel=ASK)(differing.diff)
app.command("verify", rich_help_panel=ASK)(audit.verify)
app.command("replay", rich_help_panel=ASK)(replaying.replay)
app.command("what-if", rich_help_panel=ASK)(what_if.what_if)
app.command("prove", rich_help_panel=ASK)(sealing.prove)
app.command("verify-proof", rich_help_panel=ASK)(sealing.verify_proof)
app.command("solve", rich_help_panel=ASK)(solving.solve)
app.command("export", rich_help_panel=RUN)(archiving.export)
app.command("migrate", rich_help_panel=RUN)(operating.migrate)
app.command("maintain", rich_help_panel=RUN)(operating.maintain)
app.command("recover", rich_help_panel=RUN)(recovering.recover)
app.command("seal", rich_help_panel=RUN)(sealing.seal)
app.command("witness", rich_help_panel=RUN)(sealing.witness)
app.add_typer(sealing.key_app, name="key", rich_help_panel=RUN)
app.add_typer(quarantine.app, name="quarantine", rich_help_panel=RUN)
app.add_typer(kafka.partitions_app, name="partitions", rich_help_panel=RUN)
app.add_typer(intake.fleets_app, name="fleets", rich_help_panel=RUN)
app.add_typer(readers.app, name="readers", rich_help_panel=RUN)
app.add_typer(bench.app, name="bench", rich_help_panel=RUN)
