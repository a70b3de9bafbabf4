"""From the plain numbers of a process to metrics, at the moment somebody asks.

Whoever does the work counts in values of its own (``Activity``, ``Totals``, ``Sent``) and knows of
no monitoring; a collector reads them when it is scraped. It runs in the server's thread, beside a
loop that goes on counting: each number is a whole one, though not of one moment with the others.
"""

import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from time import monotonic
from typing import Final, get_args

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.parser import text_string_to_metric_families

from consumers.totals import Sent, Totals
from ledger.api.activity import BOUNDS, Served, Spell
from ledger.cli.metrics import catalogue
from ledger.cli.metrics.catalogue import FLEETS_NAMED, OTHERS, REASONS_NAMED, Metric
from ledger.engine.activity import Activity
from ledger.facts.reason import Kind
from ledger.views.reading import Lag

PART_SECONDS: Final = 2.0
"""How long a part of ``ledger up`` may take to tell its numbers: they are at hand or never."""


def family(metric: Metric, values: float | Mapping[str, float]) -> Family:
    """A metric with its value, or with one for each value of its label."""
    labels = () if metric.label is None else (metric.label,)
    kind = CounterMetricFamily if metric.type == "counter" else GaugeMetricFamily
    spelled = kind(metric.name, metric.means, labels=labels)
    if isinstance(values, Mapping):
        for value in sorted(values):
            spelled.add_metric((value,), values[value])
    else:
        spelled.add_metric((), values)
    return spelled


def histogram(metric: Metric, spells: Spell | Mapping[str, Spell]) -> Family:
    """A metric with how often something took how long, or with that for each value of its label."""
    labels = () if metric.label is None else (metric.label,)
    spelled = HistogramMetricFamily(metric.name, metric.means, labels=labels)
    told = spells if isinstance(spells, Mapping) else {"": spells}
    for value in sorted(told):
        bounds = [*map(str, BOUNDS), "+Inf"]
        counts = [float(count) for count in accumulate(told[value].within)]
        named = (value,) if labels else ()
        spelled.add_metric(named, list(zip(bounds, counts, strict=True)), told[value].seconds)
    return spelled


class Deciding:
    """What a decider has done."""

    def __init__(self, activity: Activity) -> None:
        self._activity = activity

    def collect(self) -> Iterator[Family]:
        """Every metric of ``catalogue.DECIDING``."""
        done = self._activity
        kinds = dict.fromkeys(get_args(Kind), 0)
        yield family(catalogue.DECIDE_EVENTS, done.events)
        yield family(catalogue.DECIDE_BATCHES, done.batches)
        yield family(catalogue.DECIDE_BUSY, done.busy_seconds)
        yield family(catalogue.DECIDE_DECISIONS, kinds | done.decisions)
        yield family(catalogue.DECIDE_MOVED, kinds | done.moved)
        yield family(catalogue.DECIDE_REFUSALS, bounded(done.refusals))
        yield family(catalogue.DECIDE_TICKS, done.ticks)
        yield family(catalogue.DECIDE_HELD, done.standing("leads"))
        yield family(catalogue.DECIDE_STANDBY, done.standing("stands_by"))
        yield family(catalogue.DECIDE_STOPPED, done.standing("stopped"))
        yield family(catalogue.DECIDE_TAKEN, done.leases_taken)
        yield family(catalogue.DECIDE_LOST, done.leases_lost)
        yield family(catalogue.DECIDE_LOG_LOST, done.log_lost)
        yield family(catalogue.DECIDE_UNFOLDED, sum(tuple(done.unfolded.values())))
        snapshots = done.snapshots
        yield family(catalogue.SNAPSHOT_WRITTEN, snapshots.written)
        yield family(catalogue.SNAPSHOT_FAILED, snapshots.failed)
        yield family(catalogue.SNAPSHOT_BYTES, snapshots.bytes)
        yield family(catalogue.SNAPSHOT_SECONDS, snapshots.seconds)
        yield family(catalogue.SNAPSHOT_PAUSE, snapshots.pause_seconds)
        yield family(catalogue.SNAPSHOT_READ, snapshots.read)
        yield family(catalogue.SNAPSHOT_IGNORED, snapshots.ignored)


def bounded(counted: Mapping[str, int]) -> dict[str, float]:
    """Counts by reason; what is beyond the first REASONS_NAMED by name is counted together."""
    counts = dict(counted)
    named: dict[str, float] = {}
    for place, reason in enumerate(sorted(counts)):
        label = reason if place < REASONS_NAMED else OTHERS
        named[label] = named.get(label, 0) + counts[reason]
    return named


@dataclass(slots=True)
class Observed:
    """What was last read of the fleets, and when."""

    fleets: tuple[Lag, ...] = ()
    quarantine_waiting: int = 0
    partitions_halted: int = 0
    at: float = field(default_factory=monotonic)


class Standing:
    """How the fleets stand."""

    def __init__(self) -> None:
        self.observed = Observed()

    def collect(self) -> Iterator[Family]:
        """Every metric of ``catalogue.STANDING``."""
        seen = self.observed
        age = monotonic() - seen.at
        fleets = seen.fleets
        yield family(catalogue.LAG_EVENTS, worst((one.fleet, one.undecided) for one in fleets))
        yield family(
            catalogue.LAG_SECONDS,
            worst(
                (one.fleet, max(_waited(one.lag_seconds, age), _waited(one.overdue_seconds, age)))
                for one in fleets
                if one.lag_seconds is not None and one.overdue_seconds is not None
            ),
        )
        refused = worst((one.fleet, one.open_refusals) for one in fleets)
        yield family(catalogue.OPEN_REFUSALS, refused)
        contradicted = worst((one.fleet, one.open_incidents) for one in fleets)
        yield family(catalogue.OPEN_INCIDENTS, contradicted)
        behind = worst((one.fleet, one.behind_snapshot) for one in fleets)
        yield family(catalogue.SNAPSHOT_BEHIND, behind)
        yield family(catalogue.QUARANTINE_WAITING, seen.quarantine_waiting)
        yield family(catalogue.PARTITIONS_HALTED, seen.partitions_halted)
        yield family(catalogue.OBSERVED_AGE, age)


def _waited(seconds: float, age: float) -> float:
    """What waited when it was read has waited since, as far as we know."""
    return seconds + age if seconds else 0.0


def worst(values: Iterable[tuple[str, float]]) -> dict[str, float]:
    """By fleet, in order; what is beyond the first FLEETS_NAMED shares the highest value."""
    named: dict[str, float] = {}
    for place, (fleet, value) in enumerate(values):
        label = fleet if place < FLEETS_NAMED else OTHERS
        named[label] = max(named.get(label, value), value)
    return named


class Consuming:
    """What a consumer has taken."""

    def __init__(self, totals: Totals) -> None:
        self._totals = totals

    def collect(self) -> Iterator[Family]:
        """Every metric of ``catalogue.CONSUMING``."""
        done = self._totals
        yield family(catalogue.CONSUME_RECORDS, done.records)
        yield family(catalogue.CONSUME_BATCHES, done.batches)
        yield family(catalogue.CONSUME_APPENDED, done.appended)
        yield family(catalogue.CONSUME_DUPLICATES, done.duplicates)
        yield family(catalogue.CONSUME_CONFLICTS, done.conflicts)
        yield family(catalogue.CONSUME_QUARANTINED, done.quarantined)
        yield family(catalogue.CONSUME_REDELIVERED, done.redelivered)
        yield family(catalogue.CONSUME_ADOPTED, done.adopted)
        yield family(catalogue.CONSUME_PROVEN, done.proven)
        yield family(catalogue.CONSUME_HALTED, done.halted)
        yield family(catalogue.CONSUME_HELD, done.held)
        yield family(catalogue.CONSUME_FENCED, done.fenced)
        yield family(catalogue.CONSUME_LOG_LOST, done.log_lost)
        yield family(catalogue.CONSUME_KAFKA_LOST, done.kafka_lost)
        yield family(catalogue.CONSUME_STALLED, done.stalled)
        yield family(catalogue.CONSUME_UNREADABLE, done.unreadable)
        yield family(catalogue.CONSUME_COMMITS, done.broker_commits)


class Publishing:
    """What a publisher has handed on."""

    def __init__(self, sent: Sent) -> None:
        self._sent = sent

    def collect(self) -> Iterator[Family]:
        """Every metric of ``catalogue.PUBLISHING``."""
        done = self._sent
        yield family(catalogue.PUBLISH_DECISIONS, done.decisions)
        yield family(catalogue.PUBLISH_LETTERS, done.letters)
        yield family(catalogue.PUBLISH_BATCHES, done.batches)
        yield family(catalogue.PUBLISH_POSTPONED, done.postponed)
        yield family(catalogue.PUBLISH_INTERRUPTED, done.interrupted)
        yield family(catalogue.PUBLISH_HELD, done.leases_held)
        yield family(catalogue.PUBLISH_LOST, done.leases_lost)


class Serving:
    """What a service has answered."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def collect(self) -> Iterator[Family]:
        """Every metric of ``catalogue.SERVING``."""
        done = self._served
        classes = dict.fromkeys(("2xx", "3xx", "4xx", "5xx"), 0)
        taken = dict.fromkeys(("appended", "conflict", "duplicate", "quarantined"), 0)
        yield family(catalogue.SERVE_REQUESTS, classes | dict(done.requests))
        yield family(catalogue.SERVE_PROBLEMS, bounded(done.problems))
        yield family(catalogue.SERVE_OPEN, done.open_requests)
        yield family(catalogue.SERVE_BUSY, done.busy_seconds)
        yield family(catalogue.SERVE_EVENTS, taken | dict(done.events))
        yield family(catalogue.SERVE_CERTIFICATES, done.certificates_read)
        yield family(catalogue.SERVE_ADMISSIONS, {"answered": 0} | dict(done.admissions))
        read = dict.fromkeys(("failed", "late", "read", "skipped"), 0)
        yield family(catalogue.SERVE_OWNERS, read | dict(done.owners_read))
        yield histogram(catalogue.SERVE_ADMISSION, done.admission_spell)
        parts = {str(part): spell for part, spell in done.admission_parts.items()}
        yield histogram(catalogue.SERVE_ADMISSION_PARTS, parts)


@dataclass(slots=True)
class Part:
    """A process that ``ledger up`` keeps running."""

    port: int | None = None
    """Where it tells its numbers, on the loopback address; None if it has none to tell."""
    started: int = 0


class Parts:
    """What the parts of ``ledger up`` tell, and whether they do.

    No two parts serve a metric of the same name, so what they say can stand side by side.
    """

    def __init__(self, parts: Mapping[str, Part]) -> None:
        self._parts = parts

    def collect(self) -> Iterator[Family]:
        """Every metric of ``catalogue.PARTS``, then the parts' own."""
        told = {
            name: _told(part.port) for name, part in self._parts.items() if part.port is not None
        }
        running = {name: float(text is not None) for name, text in told.items()}
        yield family(catalogue.PART_RUNNING, running)
        started: dict[str, float] = {name: part.started for name, part in self._parts.items()}
        yield family(catalogue.PART_STARTED, started)
        for text in told.values():
            if text is not None:
                yield from text_string_to_metric_families(text)


def _told(port: int) -> str | None:
    """What a part says; None where it does not answer."""
    try:
        with urllib.request.urlopen(
            f"http://127.0.0.1:{port}/metrics", timeout=PART_SECONDS
        ) as said:
            text: str = said.read().decode()
    except OSError:
        return None
    return text
