"""What is to be otherwise in a branch: the policy, weights, events that are left out or put in.

A policy that is asked for holds in the whole branch: where the log changes the same setting, the
branch keeps its own. So do weights. An event that is put in stands where it is told to, or else
where its time says; one that is left out never happened.

Nothing is judged anew: a policy and events that are put in pass the contract as if they had been
sent, and what the contract refuses is refused here by the same name.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple

from ledger.errors import InvalidRequest
from ledger.events.codec import CONTRACT_REVISION, Accepted, Rejected, accept_line, decode
from ledger.events.contracts.control import PolicyChanged as PolicyContract
from ledger.facts.control import PolicyChanged
from ledger.facts.event import Fact, MessageReleased
from ledger.facts.policy import PolicyChange
from ledger.facts.quota import QueueUpserted, QuotaUpserted
from ledger.facts.workload import WorkloadUpserted
from ledger.log.lines import FAMILIES
from ledger.units import ClusterName, EventType, FleetName, Microseconds, Position, Subject, Weight

SOURCE: Final = "/ledger/what-if"
"""Who says what only the branch hears."""

EVERY_WORKLOAD: Final = "*"

BEGINNING: Final = Position(0)

Weighed = Literal["workload", "queue", "quota"]


class Weighing(NamedTuple):
    """Other weights: of clusters for a workload, of a queue, or of a namespace by its quota."""

    what: Weighed
    subject: str
    """Of workloads, ``*`` is every one that is divided by weights."""
    weights: tuple[tuple[str, int], ...]
    """By cluster; of a queue or a quota the one weight under its own name."""


class Leaving(NamedTuple):
    """Events that are left out: some positions, or one identity."""

    told: str
    first: int
    last: int
    identity: str | None

    def takes(self, position: int, identity: str) -> bool:
        """Whether this event is one of them."""
        if self.identity is not None:
            return self.identity == identity
        return self.first <= position <= self.last


class Added(NamedTuple):
    """An event that the branch hears and the log does not."""

    before: Position | None
    """Of the log's event in front of which it stands; None: where its time says."""
    time: Microseconds | None
    source: str
    id: str
    type: EventType
    subject: Subject
    fact: Fact


@dataclass(frozen=True, slots=True)
class Question:
    """Everything that is otherwise, and from where on."""

    first: Position = BEGINNING
    """The first event that finds it so."""
    policy: PolicyChange = ()
    weights: tuple[Weighing, ...] = ()
    without: tuple[Leaving, ...] = ()
    added: tuple[Added, ...] = ()
    ask_again: bool = False
    """Whether every workload and volume there is at ``first`` is asked again, from nothing."""


def policy_change(fleet: FleetName, settings: Mapping[str, Any]) -> PolicyChange:
    """The settings of a policy event, judged as the contract judges one that is sent."""
    event = {
        "specversion": "1.0",
        "type": PolicyContract.event_type,
        "source": SOURCE,
        "id": "policy",
        "subject": fleet,
        "fleet": fleet,
        "data": settings,
    }
    fact = _accepted(json.dumps(event).encode(), fleet, "the policy")[1]
    assert isinstance(fact, PolicyChanged), "its type says so"
    if fact.salt is not None:
        raise InvalidRequest("salt_not_first", "the policy: no branch has another salt")
    # What the contract does not know says nothing in a log; here it is somebody's mistake.
    known = dict(fact.change)
    for path in _paths("", settings):
        if not any(path == name or path.startswith(f"{name}.") for name in known):
            raise InvalidRequest("unknown_setting", f"{path}: no policy has such a setting")
    return fact.change


def _paths(prefix: str, settings: Mapping[str, Any]) -> Iterator[str]:
    for name, value in settings.items():
        if isinstance(value, dict) and value:
            yield from _paths(f"{prefix}{name}.", value)
        else:
            yield prefix + name


def settle(settings: dict[str, Any], told: Sequence[str]) -> None:
    """Put each, such as ``division.inertia=seed``, into settings; a value that is JSON is read as such.

    They come on top of what is there, but no two of them may say something of the same.
    """
    paths: list[str] = []
    for one in told:
        path = one.partition("=")[0]
        for other in paths:
            if f"{path}.".startswith(f"{other}.") or f"{other}.".startswith(f"{path}."):
                raise InvalidRequest("invalid_setting", f"{one}: {other} is set already")
        paths.append(path)
        _settle(settings, one)


def _settle(settings: dict[str, Any], told: str) -> None:
    path, equals, value = told.partition("=")
    if not equals or not all(path.split(".")):
        raise InvalidRequest("invalid_setting", f"{told}: no SETTING=VALUE")
    *sections, name = path.split(".")
    for section in sections:
        settings = settings.setdefault(section, {})
        if not isinstance(settings, dict):
            raise InvalidRequest("invalid_setting", f"{told}: {section} is no section")
    try:
        settings[name] = json.loads(value)
    except ValueError:
        settings[name] = value


def weighing(told: str) -> Weighing:
    """``shop/cart:eu=3,us=1``, ``*:eu=3``, ``queue:gold=3`` or ``quota:ml/big=2``."""
    subject, colon, pairs = told.partition(":")
    weights: list[tuple[str, int]] = []
    for pair in pairs.split(","):
        name, _, number = pair.rpartition("=")
        if not (colon and name and re.fullmatch(r"[0-9]{1,9}", number)):
            raise InvalidRequest("invalid_weights", f"{told}: no WORKLOAD:CLUSTER=WEIGHT,...")
        if any(name == other for other, _ in weights):
            raise InvalidRequest("invalid_weights", f"{told}: {name} has two weights")
        weights.append((name, int(number)))
    if subject in {"queue", "quota"}:
        if len(weights) > 1 or weights[0][1] < 1:
            raise InvalidRequest("invalid_weights", f"{told}: one {subject}, and a weight from 1")
        what: Weighed = "queue" if subject == "queue" else "quota"
        return Weighing(what, weights[0][0], tuple(weights))
    if subject != EVERY_WORKLOAD and "/" not in subject:
        raise InvalidRequest("invalid_weights", f"{told}: {subject} is no namespace/name")
    return Weighing("workload", subject, tuple(sorted(weights)))


def leaving(told: str) -> Leaving:
    """``42``, ``40..45`` or ``SOURCE/ID``."""
    numbers = re.fullmatch(r"([0-9]{1,18})(?:\.\.([0-9]{1,18}))?", told)
    if numbers is None:
        if "/" not in told:
            raise InvalidRequest("invalid_event", f"{told}: no position and no SOURCE/ID")
        return Leaving(told, 0, -1, told)
    first = int(numbers[1])
    last = first if numbers[2] is None else int(numbers[2])
    if last < first:
        raise InvalidRequest("invalid_event", f"{told}: name the earlier position first")
    return Leaving(told, first, last, None)


def additions(
    lines: Iterable[bytes], fleet: FleetName, *, before: Position | None
) -> tuple[Added, ...]:
    """The events of a file that is put in; those that are told no position need a time."""
    found: list[Added] = []
    for number, line in enumerate(lines, 1):
        if line.isspace() or not line:
            continue
        accepted, fact = _accepted(line.rstrip(b"\r\n"), fleet, f"line {number}")
        if accepted.salt is not None:
            raise InvalidRequest("salt_not_first", f"line {number}: no branch has another salt")
        if before is None and accepted.time is None:
            raise InvalidRequest("time_required", f"line {number}: no time says where it stands")
        found.append(
            Added(
                before,
                accepted.time,
                accepted.source,
                accepted.id,
                accepted.type,
                accepted.subject,
                fact,
            )
        )
    if before is None:
        found.sort(key=lambda one: one.time or 0)  # Of one time, as they stand in the file.
    return tuple(found)


def said_otherwise(fact: Fact, question: Question) -> Fact:
    """What an event of the log says in the branch."""
    match fact:
        case PolicyChanged() if question.policy:
            asked = dict(question.policy)
            reset = tuple(f"{path}." for path, value in asked.items() if value is None)
            said = {path: value for path, value in fact.change if not path.startswith(reset)}
            change = said | asked
            return replace(fact, change=tuple(sorted(change.items())))
        case MessageReleased():
            inner = said_otherwise(fact.fact, question)
            assert not isinstance(inner, MessageReleased), "what was released came from outside"
            return replace(fact, fact=inner)  # type: ignore[arg-type]  # as what it was before
        case WorkloadUpserted() | QueueUpserted() | QuotaUpserted() if question.weights:
            return weighed(fact, question.weights)
        case _:
            return fact


def weighed(
    fact: WorkloadUpserted | QueueUpserted | QuotaUpserted, weights: Sequence[Weighing]
) -> WorkloadUpserted | QueueUpserted | QuotaUpserted:
    """What somebody wants, with the weights that are asked for."""
    for one in weights:
        if not concerns(one, fact):
            continue
        match fact:
            case WorkloadUpserted(division=division):
                assert division is not None, "it is divided by weights"
                there = dict(division.weights)
                if one.subject == EVERY_WORKLOAD:
                    more = {name: weight for name, weight in one.weights if name in there}
                else:
                    more = dict(one.weights)
                changed = there | {ClusterName(name): Weight(more[name]) for name in more}
                fact = replace(
                    fact, division=replace(division, weights=tuple(sorted(changed.items())))
                )
            case QueueUpserted() | QuotaUpserted():
                fact = replace(fact, weight=Weight(one.weights[0][1]))
    return fact


def concerns(one: Weighing, fact: Fact) -> bool:
    """Whether other weights say something of what somebody wants."""
    match fact:
        case MessageReleased():
            return concerns(one, fact.fact)
        case WorkloadUpserted(division=division) if one.what == "workload":
            if division is None or not division.weights:
                return False
            if one.subject == EVERY_WORKLOAD:
                there = dict(division.weights)
                return any(name in there for name, _ in one.weights)
            return one.subject == f"{fact.namespace}/{fact.name}"
        case QueueUpserted() if one.what == "queue":
            return one.subject == fact.name
        case QuotaUpserted() if one.what == "quota":
            return one.subject == f"{fact.namespace}/{fact.name}"
        case _:
            return False


def _accepted(line: bytes, fleet: FleetName, where: str) -> tuple[Accepted, Fact]:
    verdict = accept_line(line, families=FAMILIES, fleet=fleet)
    if isinstance(verdict, Rejected):
        raise InvalidRequest(verdict.reason, f"{where}: {verdict.detail}")
    return verdict, decode(verdict.stored, revision=CONTRACT_REVISION)
