"""A derivation as sections for people, and as one object for machines.

The object has the record whole, so nothing is in the prose that a program could not read; what is
worked out beside the record - the questions that redo it, what still stands - has fields of its own.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ledger.cli.explain import (
    deployments,
    disks,
    divisions,
    movement,
    others,
    redoing,
    refusals,
    rounds,
    words,
)
from ledger.cli.explain.derivation import Derivation, Standing
from ledger.cli.explain.redoing import Redone
from ledger.cli.explain.sections import Sections, rows
from ledger.cli.explain.undecided import NewerWish, Undecided
from ledger.cli.solve.meanings import WHAT_A_BRANCH_DOES
from ledger.facts.admission import Admission
from ledger.facts.allocation import Allocation
from ledger.facts.capacity_class import CapacityClass
from ledger.facts.decision import Outcome
from ledger.facts.deployment import Deployment
from ledger.facts.disk_placement import DiskPlacement
from ledger.facts.division import Division
from ledger.facts.eviction import Eviction
from ledger.facts.incident import Incident
from ledger.facts.proposal import Proposal
from ledger.facts.refusal import Refusal
from ledger.facts.repair import Repair
from ledger.views.derivations import Place, Recorded, Told

BRANCHES: Final[Mapping[str, str]] = words.BRANCHES | {
    str(branch): told for branch, told in WHAT_A_BRANCH_DOES.items()
}
"""What was done, in the words of the explainers where they have some."""


def heading(of: Derivation) -> list[str]:
    """The decision in a line or two."""
    decision = of.decision
    outcome = decision.outcome
    kind = f"refusal of {outcome.wanted}" if isinstance(outcome, Refusal) else decision.kind
    told = _branch(of)
    lines = [
        (
            f"{of.recorded.name}  {kind.replace('_', ' ')} of {decision.subject}, by event"
            f" {decision.position}"
        ),
        f"{decision.branch}{f': {told}' if told else ''}; {movement.in_short(of)}",
        f"{decision.algorithm} version {decision.version}",
        f"digest {of.recorded.digest}",
    ]
    if of.newer is not None:
        lines.append(
            f"NOT THE NEWEST: #{of.newer.decision.number} decided the same at position"
            f" {of.newer.decision.position}"
        )
    if of.gone is not None:
        lines.append(f"GONE: event {of.gone.position} removed {of.gone.subject}")
    return lines


def _branch(of: Derivation) -> str | None:
    """What was done, in a clause."""
    branch = of.decision.branch
    match of.outcome:
        case Allocation() | Eviction():
            return rounds.ways(of.outcome, branch)
        case Incident(what=what):
            return others.FOUND[what]
        case DiskPlacement() if branch == "replaced":
            return "what was lost or broke has others in its place"
        case _ if branch == "keep" and of.ended is not None:
            return "the last result fits again, nothing moves"
        case _:
            return BRANCHES.get(branch)


def tell(of: Derivation, again: Sequence[Redone]) -> Sections:
    """All that is said of a decision by itself."""
    sections = Sections()
    match of.outcome:
        case Division() as division:
            divisions.tell(of, division, sections)
        case Deployment() as deployment:
            deployments.tell(of, deployment, sections)
        case Refusal() as refusal:
            refusals.tell(of, refusal, sections)
        case DiskPlacement() as placement:
            disks.tell(of, placement, sections)
        case Allocation() | Eviction() as moved:
            rounds.tell(of, moved, sections)
        case CapacityClass() as target:
            others.tell_target(of, target, sections)
        case Admission() as admission:
            others.tell_admission(admission, sections)
        case Incident() as incident:
            others.tell_incident(incident, sections)
        case Repair() as repair:
            others.tell_repair(of, repair, sections)
        case Proposal() as proposal:
            others.tell_proposal(of, proposal, sections)
    _redone(of, again, sections)
    sections.caused_by += caused_by(of)
    last = of.last
    if last is not None and sections.changed:
        sections.changed.append(
            f"against #{last.decision.number} ({last.decision.branch}) at position"
            f" {last.decision.position}; {movement.moved(of)}"
        )
    return sections


def _redone(of: Derivation, again: Sequence[Redone], sections: Sections) -> None:
    """The steps as they come out again, and the lines that redo them."""
    for one in again:
        if one.question.op != "lot.draw":
            sections.steps += one.told
        if one.differs is not None:
            sections.steps.append(f"{one.question.op} does not redo it here: {one.differs}")
    outcome = of.outcome
    if of.decision.lot is not None and isinstance(outcome, Division):
        sections.draw += divisions.lot(of.decision.lot, outcome)
    elif isinstance(outcome, Division):
        sections.draw.append("no lot was needed: nothing was left to luck")
    for one in again:
        what = "the lot" if one.question.op == "lot.draw" else f"the whole ({one.question.op})"
        sections.draw += [f"redo {what}:", one.question.command]


def caused_by(of: Derivation) -> list[str]:
    """The event or the deadline that made it due."""
    decision = of.decision
    lines = [f"{_because(decision.outcome)}."] if decision.outcome.because else []
    if isinstance(decision.outcome, Division):
        lines += divisions.came_and_went(of, decision.outcome)
    if of.ended is not None:
        refusal = of.ended.decision.outcome
        assert isinstance(refusal, Refusal), "nothing else is ended so"
        lines.append(
            f"it had been refused by #{of.ended.decision.number} at position"
            f" {of.ended.decision.position}: {words.refused(refusal)};"
            f" {'this takes its place' if isinstance(decision.outcome, Refusal) else 'that is over with this'}"
        )
    if decision.deadline is not None:
        lines.append(f"a deadline ran out: {words.ran_out(decision.deadline)}, before")
    if of.cause is None:
        return [*lines, f"event {decision.position}, which was archived"]
    cause = of.cause
    lines += [
        f"event {cause.position}: {cause.type} {cause.subject}",
        f"by {cause.source}, id {cause.id}, at {_moment(cause)}",
        f"came by {_channel(cause)}",
    ]
    return lines


def _because(outcome: Outcome) -> str:
    """Why it was asked; a proposal may come because what the one before it was to mend is mended."""
    if isinstance(outcome, Proposal) and not outcome.before:
        return words.because(outcome.because, others.NO_MORE)
    return words.because(outcome.because)


def _moment(event: Told) -> str:
    return event.recorded_at.isoformat(timespec="microseconds")


def _channel(event: Told) -> str:
    if event.topic is None:
        return event.channel
    return f"{event.channel}, {event.topic}/{event.partition}@{event.kafka_offset}"


def said(told: Told) -> str:
    """Which event told it."""
    return f"told by event {told.position}: {told.type}, id {told.id} of {told.source}"


def undecided(found: Undecided) -> dict[str, Any]:
    """For machines: what there is to say where there is no decision."""
    return {
        "decision": None,
        "fleet": found.fleet,
        "subject": found.subject,
        "waiting": found.waiting,
        "wish": event(found.told),
    }


def newer_wish(found: NewerWish | None) -> dict[str, Any] | None:
    """For machines: what waits behind the newest decision."""
    return None if found is None else {"waiting": found.waiting, "event": event(found.told)}


def pending(
    found: Sequence[Standing],
    places: Sequence[Place],
    *,
    as_of_now: bool = True,
    waiting: int | None = None,
) -> list[str]:
    """What stands refused, with what is short, what it waits for, and how much of it there is by then.

    A newer wish is told beside that, but for the one of the event that is said to be ``waiting`` anyway.
    """
    lines: list[str] = []
    for one in found:
        decision, since = one.recorded.decision, one.newer_wish
        refusal = decision.outcome
        assert isinstance(refusal, Refusal), "only refusals stand open"
        wanted = refusals.WANTED.get(refusal.wanted, refusal.wanted)
        lines += [
            *([""] if lines else []),
            (
                f"{decision.subject} waits {wanted}: refused by #{decision.number} at event"
                f" {decision.position}"
            ),
            *refusals.short(refusal, decision.subject, numbers="numbers then"),
            *(
                [refusals.wished_since(since, one.wish.data)]
                if since is not None and one.wish is not None and since.position != waiting
                else []
            ),
            *_by_now(decision.subject, refusal, places, "now" if as_of_now else "then"),
        ]
    return lines


def _by_now(subject: str, refusal: Refusal, places: Sequence[Place], moment: str) -> list[str]:
    """A refusal is not recorded again while its reason stays, so its numbers may be of long ago."""
    workload, at, cluster = subject.partition("@")
    if refusal.wanted != "deployment" or not at:
        return []
    share = sum(
        one.held
        for one in places
        if (one.kind, one.subject, one.cluster) == ("division", workload, cluster)
    )
    held = sum(one.held for one in places if (one.kind, one.subject) == ("deployment", subject))
    return [f"by {moment}: {share} of the division belong there, {held} are"] if share else []


def placed(places: Sequence[Place]) -> list[str]:
    """Where things are, or were."""
    if not places:
        return []
    body = [
        [
            place.kind.replace("_", " "),
            "/".join(filter(None, (place.cluster, place.node, place.disk))),
            str(place.held),
            f"#{place.number}",
            str(place.since_position),
        ]
        for place in places
    ]
    return rows(["kind", "where", "count", "as of", "since event"], body, numbers=range(2, 5))


def plain(
    of: Derivation,
    again: Sequence[Redone],
    sections: Sections,
    *,
    standing: Sequence[Standing],
    places: Sequence[Place],
) -> dict[str, Any]:
    """For machines; docs/explain.md tells the fields."""
    return {
        "decision": of.recorded.name,
        "fleet": of.decision.fleet,
        "number": of.decision.number,
        "kind": of.decision.kind,
        "subject": of.decision.subject,
        "digest": of.recorded.digest,
        "record": json.loads(of.recorded.spelled),
        "event": None if of.cause is None else event(of.cause),
        "wish": None if of.wish is None else event(of.wish),
        "previous": _name(of.previous),
        "last_result": _name(of.last),
        "newer": _name(of.newer),
        "gone": None if of.gone is None else event(of.gone),
        "ended": None
        if of.ending is None
        else {
            "open": of.ending.open,
            "resolved_by": of.ending.resolved_by,
            "position": of.ending.position,
        },
        "redo": [
            {
                "op": one.question.op,
                "question": one.question.line,
                "same": one.differs is None,
                "differs": one.differs,
            }
            for one in again
        ],
        "ended_refusal": _name(of.ended),
        "short": _name(of.short),
        "pending": [
            {
                "decision": one.recorded.name,
                "record": json.loads(one.recorded.spelled),
                "wish": None if one.wish is None else event(one.wish),
                "newer_wish": None if one.newer_wish is None else event(one.newer_wish),
            }
            for one in standing
        ],
        "places": [place._asdict() for place in places],
        "sections": sections.told(),
    }


def _name(one: Recorded | None) -> dict[str, Any] | None:
    if one is None:
        return None
    decision = one.decision
    return {
        "decision": one.name,
        "number": decision.number,
        "position": decision.position,
        "branch": decision.branch,
        "record": json.loads(one.spelled),
    }


def event(told: Told) -> dict[str, Any]:
    """An event for machines."""
    return {
        "position": told.position,
        "type": told.type,
        "subject": told.subject,
        "source": told.source,
        "id": told.id,
        "recorded_at": _moment(told),
        "channel": told.channel,
        "topic": told.topic,
        "partition": told.partition,
        "kafka_offset": told.kafka_offset,
        "effect": told.effect,
        "data": told.data,
    }


def questions(of: Derivation) -> list[Redone]:
    """What can be redone of it, redone."""
    return [redoing.redone(question) for question in redoing.questions(of)]
