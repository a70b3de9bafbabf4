"""How fast a log is folded and decided in memory, and what each type of event costs.

The rows are at hand; each round decodes, folds and decides them from the first on, in the one step
that deciding and replay share. What evolving alone costs is told by a pass that follows the
decisions of the last round (``ledger.reducers.evolve.follow``), as a standby does: the rest of a
step is deciding.

Time is processor time: pure code waits for nothing, so on a core of its own that is what the clock
on the wall says, and with neighbours it still is nearly what an event costs.
"""

from collections import defaultdict
from collections.abc import Sequence
from statistics import median
from time import thread_time
from typing import Final, NamedTuple

from ledger.cli.bench.engine_finding import Bar, Finding, digits
from ledger.cli.bench.engine_history import beginning, rows, simulation
from ledger.cli.simulator.sizes import Sizes
from ledger.decisions.step import advance
from ledger.engine.decider import USUAL_PACE
from ledger.facts.decision import Decision
from ledger.log.folding import event
from ledger.log.garbage import searched_no_more, seldom_collected
from ledger.log.read import StoredEvent
from ledger.reducers.evolve import follow

PER_SECOND: Final = 15_000
MICRO: Final = 1_000_000


class Spent(NamedTuple):
    """What events of a type have taken together."""

    events: int = 0
    decoding: float = 0.0
    deciding: float = 0.0
    decisions: int = 0
    costliest: float = 0.0


class Pass(NamedTuple):
    """One way through all rows."""

    seconds: float
    by_type: dict[str, Spent]
    decided: list[tuple[Decision, ...]]


def in_memory(sizes: Sizes, *, events: int, rounds: int) -> Finding:
    """Fold and decide the mixed history, a few times over."""
    history = list(rows(simulation(sizes).events(events)))
    with seldom_collected():
        passes = [_decided(history) for _ in range(rounds)]
        evolving = _followed(history, passes[-1].decided)
    seconds = median(one.seconds for one in passes)
    last = passes[-1]
    decoding = sum(spent.decoding for spent in last.by_type.values())
    stepping = sum(spent.deciding for spent in last.by_type.values())
    decoded, stepped = (
        median(sum(getattr(spent, part) for spent in one.by_type.values()) for one in passes)
        for part in ("decoding", "deciding")
    )
    figures = {
        "events": events,
        "decisions": sum(map(len, last.decided)),
        "seconds": digits(seconds),
        "per_second": round(events / (decoded + stepped)),
        "per_second_without_decoding": round(events / stepped),
        "percent_of_time": {
            "decoding": round(100 * decoding / (decoding + stepping)),
            "evolving": round(100 * evolving / (decoding + stepping)),
            "deciding": round(100 * (stepping - evolving) / (decoding + stepping)),
        },
        "rounds": rounds,
    }
    return Finding(
        part="memory",
        about="rows to decisions, without a server",
        figures=figures,
        bars=[Bar("events a second", figures["per_second"], at_least=PER_SECOND)],
        table=_table(last.by_type, decoding + stepping),
    )


def _decided(history: Sequence[StoredEvent]) -> Pass:
    spent: defaultdict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0, 0, 0.0])
    decided: list[tuple[Decision, ...]] = []
    world = beginning()
    began = thread_time()
    for place, row in enumerate(history):
        if place % USUAL_PACE.events == 0:
            searched_no_more()  # As a decider does behind each batch.
        start = thread_time()
        happened = event(row)
        decoded = thread_time()
        step = advance(world, happened)
        done = thread_time()
        world = step.world
        decided.append(step.decisions)
        of = spent[row.type]
        of[0] += 1
        of[1] += decoded - start
        of[2] += done - decoded
        of[3] += len(step.decisions)
        of[4] = max(of[4], done - decoded)
    seconds = thread_time() - began
    by_type = {
        type_: Spent(int(events), decoding, deciding, int(decisions), costliest)
        for type_, (events, decoding, deciding, decisions, costliest) in spent.items()
    }
    return Pass(seconds, by_type, decided)


def _followed(history: Sequence[StoredEvent], decided: Sequence[tuple[Decision, ...]]) -> float:
    """Seconds that evolving takes: events and the decisions made on them."""
    seconds = 0.0
    world = beginning()
    for row, made in zip(history, decided, strict=True):
        happened = event(row)
        start = thread_time()
        world = follow(world, happened, made)
        seconds += thread_time() - start
    return seconds


def _table(by_type: dict[str, Spent], seconds: float) -> list[dict[str, object]]:
    def cost(type_: str) -> float:
        return -(by_type[type_].decoding + by_type[type_].deciding)

    return [
        {
            "type": type_,
            "events": spent.events,
            "decisions": spent.decisions,
            "decode_us": digits(MICRO * spent.decoding / spent.events),
            "step_us": digits(MICRO * spent.deciding / spent.events),
            "longest_us": digits(MICRO * spent.costliest),
            "percent": digits(100 * (spent.decoding + spent.deciding) / seconds),
        }
        for type_ in sorted(by_type, key=cost)
        for spent in (by_type[type_],)
    ]
