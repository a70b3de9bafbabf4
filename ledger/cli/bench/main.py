"""``ledger bench``: how fast it is here, each time against a floor measured in the same run."""

import typer

app = typer.Typer(
    help="Measure how fast it is here, each time against a floor of the same run.",
    no_args_is_help=True,
)


@app.callback()
def _bench() -> None:
    """Measure how fast it is here, each time against a floor of the same run."""
