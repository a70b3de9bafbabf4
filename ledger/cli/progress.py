"""How far a long command is, for whoever runs it as a process: lines of JSON beside its answer."""

import json
import time
from typing import Annotated, Final

import typer

LINE_SECONDS: Final = 0.5
"""Between two lines of a phase: often enough for a bar that moves, and seldom enough to be read."""

ProgressLines = Annotated[
    bool,
    typer.Option(
        "--progress",
        help="Tell on standard error how far it is: lines of JSON with phase, done and of.",
    ),
]


class Lines:
    """Tells now and then how far each phase is, and always that one is complete, or how far it came."""

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted
        self._told: dict[str, float] = {}

    def tell(self, phase: str, done: int, of: int | None, *, last: bool = False) -> None:
        """How far it is."""
        now = time.monotonic()
        soon = now - self._told.get(phase, -LINE_SECONDS) < LINE_SECONDS
        if self._wanted and (last or done == of or not soon):
            self._told[phase] = now
            typer.echo(json.dumps({"phase": phase, "done": done, "of": of}), err=True)
