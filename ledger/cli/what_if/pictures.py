"""Both courses as a picture, to be pasted into a review.

One panel for each measure that comes out otherwise, over the positions of the log; what was is dark and
thin, what would have been is coloured. The same answer is drawn with the same bytes as SVG, so
that a picture in a repository changes only when what it shows does.

matplotlib draws, and is loaded only here: nothing else needs it (docs/adr/0018-pictures-by-matplotlib.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Final, NamedTuple

from ledger.cli.what_if.telling import ROWS, Row, count, sides, size, title
from ledger.errors import InvalidRequest, SetupProblem
from ledger.replay.what_if.asking import Answer
from ledger.replay.what_if.comparison import Sample, Standing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES: Final = frozenset({".png", ".svg"})

TICKS: Final = 5
"""Of an axis: more are not read."""

PANELS: Final = 8
"""More in one picture cannot be read in a review."""

LEFT_OUT: Final = frozenset({"decisions", "moved between disks", "refusals"})
"""Measures of which another panel says the same, and more."""

DARK, COLOURED, FAINT = "#333333", "#d55e00", "#dddddd"
"""Told apart by everybody, on paper too: one of them is thin."""

ALWAYS: Final = ("moved between clusters", "refusals open in the end")
"""What is drawn where nothing comes out otherwise."""


def require(paths: Sequence[Path]) -> None:
    """Whether these can be drawn, before anything is folded."""
    for path in paths:
        if path.suffix.lower() not in SUFFIXES:
            raise InvalidRequest("invalid_request", f"--plot {path}: pictures are .png or .svg")
        if not path.resolve().parent.is_dir():
            raise SetupProblem(f"{path}: there is no such directory")
    if not paths:
        return
    if find_spec("matplotlib") is None:
        raise SetupProblem(
            "pictures need matplotlib: pip install 'ledger-scheduling[plots]';"
            " the table and --json need nothing"
        )


def draw(answer: Answer, path: Path) -> None:
    """Draw an answer into a file."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    curves = _curves(answer)
    lines = (len(curves) + 1) // 2
    with mpl.rc_context({"svg.hashsalt": "ledger", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(10, 1.2 + 2.4 * lines), layout="constrained")
        # Without these names nobody could say of a pasted picture what it shows.
        heading = shorten(title(answer), 100, placeholder=" ...")
        figure.suptitle(f"fleet {answer.fleet}: what if {heading}", fontsize=11)
        for place, curve in enumerate(curves, 1):
            axes = figure.add_subplot(lines, 2 if len(curves) > 1 else 1, place)
            _panel(axes, answer, curve)
        figure.legend(
            *figure.axes[0].get_legend_handles_labels(),
            loc="outside lower center",
            ncols=2,
            frameon=False,
        )
        metadata = {"Date": None} if path.suffix.lower() == ".svg" else {"Software": None}
        figure.savefig(path, dpi=150, metadata=metadata)


class Curve(NamedTuple):
    """A measure along the log, on both sides."""

    row: Row
    was: list[float | None]
    would_be: list[float | None]


def _curves(answer: Answer) -> list[Curve]:
    """Those that come out otherwise somewhere, as far as there is room."""
    samples = answer.comparison.samples
    every = [
        Curve(
            row,
            [_value(row, sample.was) for sample in samples],
            [_value(row, sample.would_be) for sample in samples],
        )
        for row in ROWS
        if row.name not in LEFT_OUT
    ]
    other = [curve for curve in every if curve.was != curve.would_be]
    return other[:PANELS] or [curve for curve in every if curve.row.name in ALWAYS]


def _value(row: Row, standing: Standing) -> float | None:
    value = row.value(standing)
    return None if value is None else float(value)


def _panel(axes: Axes, answer: Answer, curve: Curve) -> None:
    from matplotlib.ticker import MaxNLocator, MultipleLocator

    samples: Sequence[Sample] = answer.comparison.samples
    positions = [sample.place.position for sample in samples]
    was, would_be = sides(answer)
    # The thin one lies on the thick one: where they are the same both are seen.
    for name, values, colour, width, order in (
        (was, curve.was, DARK, 1.0, 3),
        (would_be, curve.would_be, COLOURED, 3.0, 2),
    ):
        known = [float("nan") if value is None else value for value in values]
        axes.step(
            positions, known, where="post", color=colour, linewidth=width, label=name, zorder=order
        )
    axes.set_title(_name(curve.row), loc="left", fontsize=9)
    axes.set_xlabel("position in the log")
    if any(curve.was) or any(curve.would_be):
        axes.set_ylim(bottom=0)
    else:
        axes.set_ylim(0, 1)  # What is nothing all the way has no scale of its own.
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.yaxis.set_major_locator(
        MultipleLocator(binary_step(curve))
        if curve.row.told is size
        else MaxNLocator(TICKS, integer=curve.row.told is count)
    )
    axes.yaxis.set_major_formatter(lambda value, _: curve.row.told(value))


def binary_step(curve: Curve) -> int:
    """From tick to tick of an axis of bytes: a power of two, so that each is whole in its unit."""
    highest = max((value for value in (*curve.was, *curve.would_be) if value), default=1.0)
    return 1 << max(0, ceil(highest / TICKS) - 1).bit_length()


def _name(row: Row) -> str:
    return row.name.strip().removesuffix(" in the end")
