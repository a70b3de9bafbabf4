"""What a part of ``ledger bench engine`` or ``audit`` found, and the bars it is held to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ledger.cli.bench.figures import surroundings


@dataclass(frozen=True, slots=True)
class Bar:
    """What a figure has to reach, or must not exceed."""

    figure: str
    measured: float
    at_least: float | None = None
    at_most: float | None = None

    @property
    def kept(self) -> bool:
        """Whether it did."""
        return (self.at_least is None or self.measured >= self.at_least) and (
            self.at_most is None or self.measured <= self.at_most
        )

    def as_plain(self) -> dict[str, object]:
        """For the record."""
        limit = {"at_least": self.at_least, "at_most": self.at_most}
        told = {name: value for name, value in limit.items() if value is not None}
        return {"figure": self.figure, "measured": self.measured, **told, "kept": self.kept}

    def as_text(self) -> str:
        """For people."""
        limits = [
            f"{words} {limit:,g}"
            for words, limit in (("at least", self.at_least), ("at most", self.at_most))
            if limit is not None
        ]
        told = f"{self.figure}: {self.measured:,g}, to be {' and '.join(limits)}"
        return f"{told}: {'kept' if self.kept else 'MISSED'}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One part's figures."""

    part: str
    about: str
    figures: Mapping[str, Any]
    bars: Sequence[Bar]
    postgres: str = "none"
    bench: str = "engine"
    table: Sequence[Mapping[str, Any]] = ()
    """Rows of equal keys, the costliest first."""

    @property
    def kept(self) -> bool:
        """Whether every bar is."""
        return all(bar.kept for bar in self.bars)

    def as_plain(self) -> dict[str, object]:
        """For the record: one line of JSON."""
        told: dict[str, object] = {"bench": self.bench, "part": self.part, **self.figures}
        if self.table:
            told["by_type"] = [dict(row) for row in self.table]
        told["bars"] = [bar.as_plain() for bar in self.bars]
        return told | {"kept": self.kept} | surroundings(self.postgres)

    def as_text(self) -> str:
        """For people."""
        lines = [f"{self.part}: {self.about}"]
        lines += [
            f"  {name.replace('_', ' '):34} {_shown(of)}" for name, of in self.figures.items()
        ]
        if self.table:
            names = list(self.table[0])
            lines += ["", "  " + "".join(_cell(name, name.replace("_", " ")) for name in names)]
            for row in self.table:
                lines.append("  " + "".join(_cell(name, _shown(row[name])) for name in names))
            lines.append("")
        lines += [f"  {bar.as_text()}" for bar in self.bars]
        return "\n".join(lines)


def _cell(name: str, text: str) -> str:
    return f"{text:<44}" if name == "type" else f"{text:>14}"


def _shown(value: object) -> str:
    match value:
        case int():
            return f"{value:,}"
        case dict():
            return ", ".join(f"{name} {_shown(entry)}" for name, entry in value.items())
        case _:
            return str(value)


def digits(number: float) -> float:
    """Four digits; what follows is noise."""
    return float(f"{number:.4g}")


def percentile(waits: list[float], percent: int) -> float:
    """The least that so many of a hundred do not exceed."""
    return waits[max(0, -(-len(waits) * percent // 100) - 1)]
