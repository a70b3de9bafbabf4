"""Why something is not on a cluster, a node or a disk: what the record says, or why nobody asked it.

A record names the first of those who lost, and counts the others by reason. Of one that is not named,
what it was told to be by then often says which reason was its own. A place of which no event speaks
was not there to be asked.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple

from ledger.cli.counting import count
from ledger.cli.explain import disks, words
from ledger.cli.explain.derivation import Derivation, known_to
from ledger.cli.explain.divisions import why_none
from ledger.cli.explain.sections import LOSERS_TOLD, why_lost
from ledger.errors import InvalidRequest
from ledger.facts.allocation import Allocation
from ledger.facts.deployment import Deployment
from ledger.facts.disk_placement import DiskPlacement, Step
from ledger.facts.division import ClusterShare, Division
from ledger.facts.eviction import Eviction
from ledger.facts.reason import LOSERS_NAMED, Losers
from ledger.facts.refusal import Refusal
from ledger.log.database import Connection
from ledger.views import derivations
from ledger.views.derivations import NEWEST, Place, Recorded, Told

Verdict = Literal["it_is", "it_was", "lost", "not_named", "not_asked", "unknown"]
"""It is there after all; it was, and nothing of it is in force there; the record gives its reason; it lost and is only counted; nobody asked it;
or no event speaks of it."""

PLACE_TOLD: Final = (
    "ledger.cluster.cluster.upserted.v1",
    "ledger.cluster.cluster.removed.v1",
    "ledger.cluster.node.upserted.v1",
    "ledger.cluster.node.removed.v1",
    "ledger.cluster.node.reclaiming.v1",
    "ledger.disk.disk.upserted.v1",
    "ledger.disk.disk.removed.v1",
)

IN_FORCE: Final[Mapping[str, str]] = {
    "division": "replicas",
    "deployment": "instances",
    "allocation": "tasks",
    "disk_placement": "replicas",
}
"""What is counted of each kind that holds places."""

REMOVED: Final = ".removed.v1"
"""How the types of the events end with which a place goes."""

TAKES_ALL_ON_IT: Final = ("ledger.cluster.cluster.removed.v1", "ledger.cluster.node.removed.v1")
"""With a cluster go its nodes and disks, with a node its disks."""

PARTS: Final[Mapping[str, int]] = {"cluster": 1, "node": 2, "disk": 3}
"""Of how many names the full name of a place is made."""

DECISIONS_TOLD: Final = 3
"""Decisions that a line names; the newest matter."""

STATES: Final = ("ready", "schedulable", "allow", "evicting", "node_ready", "node_allow")
"""What an event may say of a place that keeps work away from it."""


@dataclass(frozen=True, slots=True)
class WhyNot:
    """What is to be said of a place."""

    place: str
    verdict: Verdict
    decision: str
    """By which decision."""
    reason: str | None
    """The code that the record has for it."""
    lines: tuple[str, ...]
    reasons: Mapping[str, int] = field(default_factory=dict)
    """Of the replicas of a volume: how many were kept off for each reason."""


async def why_not(
    connection: Connection,
    of: Derivation,
    standing: Sequence[Recorded],
    parts: Sequence[str],
    asked_about: str,
    in_force: Sequence[Place],
    *,
    at: int = NEWEST,
) -> WhyNot:
    """Why the subject of a decision, or one of its parts, is not at a place.

    What is there is for the views to say: records stay when what they placed goes. ``InvalidRequest``
    where several clusters have a place of the name.
    """
    fleet = of.decision.fleet
    asked = _each_once([of.recorded, *standing, *await _of_parts(connection, fleet, parts, at)])
    # A decision that was named is asked about its own moment, a subject about now.
    moment = at if parts else known_to(of.decision)
    place = await _meant(connection, fleet, asked, in_force, asked_about, at=moment)
    there = [one for one in in_force if _is_in(_where(one), place)]
    if there and parts:
        return await _it_is(connection, fleet, there, place, at)
    told = [one for recorded in asked for one in _told(recorded, place)]
    if any(one.verdict == "it_was" for one in told) and there:
        return await _it_is(connection, fleet, there, place, at)
    # Clusters are asked by the division, and what a deployment has there follows from that.
    cluster = "/" not in place
    by_say = sorted(asked, key=lambda one: cluster and isinstance(one.decision.outcome, Deployment))
    for recorded in by_say:
        for verdict in ("it_was", "lost"):
            for one in _told(recorded, place):
                if one.verdict == verdict:
                    return _since(one, of, at)
    spoken = await _last_said(connection, fleet, place, at=moment)
    if spoken is None:
        told_nothing = f"{place} was not asked: no event by then speaks of it"
        return WhyNot(place, "unknown", of.recorded.name, None, (told_nothing,))
    said = spoken.said
    by = next((one for one in asked if told and one.name == told[0].decision), None)
    by = by or _who_asks(of, asked, spoken)
    before = await _last_said(connection, fleet, place, at=known_to(by.decision))
    was_there = before is not None and not before.said.type.endswith(REMOVED)
    if told and was_there:
        return WhyNot(place, "not_named", told[0].decision, None, (*told[0].lines, *_state(said)))
    if spoken.noun == "disk" and not _of_disks(by):
        why = "only replicas of volumes have their places on disks"
    elif was_there:
        why = _not_asked(of, by, spoken)
    elif before == spoken:
        why = f"it was not there any more when #{by.decision.number} was decided"
    else:
        why = f"what is said of it now came after #{by.decision.number} was decided"
    lines = (f"{place} was not asked: {why}", *_state(said))
    return WhyNot(place, "not_asked", by.name, None, lines)


class _Spoken(NamedTuple):
    """The last event that says what a place is, or that it is not."""

    noun: str
    """What the place is: a cluster, a node or a disk."""
    said: Told


async def _last_said(connection: Connection, fleet: str, place: str, *, at: int) -> _Spoken | None:
    """What was said last of a place by a position; also of what it is on, where that took it along.

    A node may be known by its disks alone. None where no event speaks of the place.
    """
    said = await derivations.last_said(connection, fleet, [place], PLACE_TOLD, at=at)
    if said is not None:
        noun = said.type.split(".")[2]
    else:
        on_it = await derivations.disks_on(connection, fleet, place, at=at)
        said = await derivations.last_said(connection, fleet, on_it, PLACE_TOLD, at=at)
        if said is None:
            return None
        noun = "node"
    parts = place.split("/")
    # Disks of a fleet without clusters are on a node that no event is about.
    whole = len(parts) == PARTS[noun]
    on = ["/".join(parts[:many]) for many in range(1, len(parts))] if whole else []
    gone = await derivations.last_said(connection, fleet, on, TAKES_ALL_ON_IT, at=at)
    return _Spoken(noun, gone if gone is not None and gone.position > said.position else said)


async def _of_parts(
    connection: Connection, fleet: str, parts: Sequence[str], at: int
) -> list[Recorded]:
    """The decisions that asked: nodes are asked by the part of a workload that is on their cluster.

    The newest of a part says what is there, and the newest that placed something whom it asked.
    """
    found = []
    for subject in parts:
        # A workload or a job by itself has neither: only its parts are deployed.
        if "/" in subject and "@" not in subject:
            continue
        kind = "deployment" if "@" in subject else "disk_placement"
        found += [
            await derivations.newest(connection, fleet, subject, [kind], at=at),
            await derivations.newest_that_placed(connection, fleet, subject, kind, at=at),
        ]
    return [one for one in found if one is not None]


def _each_once(recorded: Sequence[Recorded]) -> list[Recorded]:
    """Each decision once, as it is met first, since that may name everybody; the newest first."""
    by_number = {one.decision.number: one for one in reversed(recorded)}
    return [by_number[number] for number in sorted(by_number, reverse=True)]


async def _meant(
    connection: Connection,
    fleet: str,
    asked: Sequence[Recorded],
    in_force: Sequence[Place],
    place: str,
    *,
    at: int,
) -> str:
    """The full name of the place that is meant, or the name itself where nobody has a longer one."""
    if await _last_said(connection, fleet, place, at=at) is not None:
        return place
    known = {name for recorded in asked for name in _names(recorded)} | set(map(_where, in_force))
    if any(_is_in(name, place) for name in known):
        return place
    found = {name: False for known_name in known if (name := _ending(known_name, place))}
    for cluster in sorted({name.partition("/")[0] for name in known}):
        name = f"{cluster}/{place}"
        spoken = await _last_said(connection, fleet, name, at=at)
        if spoken is not None:
            found[name] = not spoken.said.type.endswith(REMOVED)
    there = [name for name in found if found[name]] or list(found)
    if len(there) > 1:
        raise InvalidRequest(
            "ambiguous", f"{place} may be any of these places: {', '.join(sorted(there))}"
        )
    return there[0] if there else place


def _names(recorded: Recorded) -> Iterator[str]:
    """Every place that a decision speaks of, by its full name."""
    outcome = recorded.decision.outcome
    match outcome:
        case Division():
            yield from (share.cluster for share in outcome.shares)
        case Deployment():
            yield outcome.cluster
            yield from (f"{outcome.cluster}/{one.node}" for one in outcome.instances)
            yield from (f"{outcome.cluster}/{name}" for name, _ in outcome.losers.named)
        case DiskPlacement():
            yield from map(disks.where, outcome.replicas)
            for step in outcome.steps:
                yield from (name for name, _ in step.losers.named)
                yield from (name for stage in disks.stages(step) for name, _ in stage)
        case Allocation():
            yield from (f"{one.cluster}/{one.node}" for one in outcome.tasks)
        case Refusal():
            inside = _inside(recorded)
            yield from filter(None, [inside.removesuffix("/")])
            yield from (f"{inside}{name}" for name, _ in outcome.losers.named)
        case _:
            return


def _inside(refused: Recorded) -> str:
    """What the names of those who lost in a refusal are to be read behind."""
    _, at, cluster = refused.decision.subject.rpartition("@")
    return f"{cluster}/" if at else ""


def _told(recorded: Recorded, place: str) -> Iterator[WhyNot]:
    """What one decision says of a place, if it says anything."""
    outcome = recorded.decision.outcome
    match outcome:
        case Division():
            for share in outcome.shares:
                if share.cluster == place:
                    yield _of_share(recorded, share)
            if "/" not in place:
                yield from _of_losers(recorded, outcome.losers, place)
        case Deployment():
            inside = f"{outcome.cluster}/"
            held = sum(_is_in(f"{inside}{one.node}", place) for one in outcome.instances)
            if held:
                yield _it_was(recorded, place, f"{held} of its instances")
            if _is_node(place, inside):
                yield from _of_losers(recorded, outcome.losers, place, inside=inside)
        case DiskPlacement():
            for one in outcome.replicas:
                if _is_in(disks.where(one), place):
                    yield _it_was(recorded, place, one.replica, disks.where(one))
            yield from _of_steps(recorded, outcome, place)
        case Allocation():
            there = sum(_is_in(f"{one.cluster}/{one.node}", place) for one in outcome.tasks)
            if there:
                yield _it_was(recorded, place, f"{there} of its tasks")
        case Refusal():
            inside = _inside(recorded)
            if not inside or _is_node(place, inside):
                whole = outcome.wanted == "disk_placement"
                yield from _of_losers(recorded, outcome.losers, place, inside=inside, whole=whole)
        case _:
            return


def _is_in(full: str, place: str) -> bool:
    """Whether what has this full name is the place that is meant, or is on it."""
    return f"{full}/".startswith(f"{place}/")


def _is_node(place: str, inside: str) -> bool:
    """Whether a place is a node of a cluster, and no disk."""
    return place.startswith(inside) and "/" not in place.removeprefix(inside)


def _ending(full: str, place: str) -> str:
    """A full name as far as it ends in a shorter one; empty where it does not have that."""
    head, found, _ = f"/{full}/".partition(f"/{place}/")
    return f"{head}/{place}".lstrip("/") if found else ""


def _where(one: Place) -> str:
    return "/".join(filter(None, (one.cluster, one.node, one.disk)))


async def _it_is(
    connection: Connection, fleet: str, there: Sequence[Place], place: str, at: int
) -> WhyNot:
    """What is in force at a place, of the kind that says it first: a cluster has its share, and nodes."""
    kind = next(kind for kind in IN_FORCE if any(one.kind == kind for one in there))
    of_kind = [one for one in there if one.kind == kind]
    held, numbers = sum(one.held for one in of_kind), [max(one.number for one in of_kind)]
    if kind == "allocation":
        # A round tells what it placed, and not what else is there: what is in force names the newest.
        numbers = await derivations.put_by(
            connection, fleet, of_kind[0].subject, place, at=None if at == NEWEST else at
        )
        assert numbers, "each task was put where it runs"
        run = "runs" if held == 1 else "run"
        line = f"it is: {held} of its tasks {run} on {place}, put there by {_numbered(numbers)}"
    else:
        what = count(held, "replica") if kind == "division" else f"{held} of its {IN_FORCE[kind]}"
        on = ", ".join(map(_where, of_kind)) if kind == "disk_placement" else place
        line = f"it is: #{numbers[-1]} has {what} on {on}"
    by = await derivations.decision(connection, fleet, numbers[-1])
    assert by is not None, "what is in force was decided"
    return WhyNot(place, "it_is", by.name, None, (line,))


def _numbered(numbers: Sequence[int]) -> str:
    """Decisions as they are read aloud: the newest of many."""
    told = [f"#{number}" for number in numbers[-DECISIONS_TOLD:]]
    if len(numbers) > len(told):
        told = [count(len(numbers) - len(told), "older decision"), *told]
    return " and ".join(filter(None, (", ".join(told[:-1]), told[-1])))


def _it_was(recorded: Recorded, place: str, what: str, where: str = "") -> WhyNot:
    """What a decision put somewhere; whether it is still there its record does not say."""
    line = f"it was: #{recorded.decision.number} put {what} on {where or place}"
    return WhyNot(place, "it_was", recorded.name, None, (line,))


def _since(told: WhyNot, of: Derivation, at: int) -> WhyNot:
    """What became of what a decision had put somewhere."""
    if told.verdict != "it_was":
        return told
    when = "now" if at == NEWEST else f"at position {at}"
    gone = "" if of.gone is None else ": it is gone"
    line = f"{told.lines[0]}, and nothing of it is in force there {when}{gone}"
    return replace(told, lines=(line,))


def _of_share(recorded: Recorded, share: ClusterShare) -> WhyNot:
    """A cluster that took part."""
    if share.replicas:
        return _it_was(recorded, share.cluster, count(share.replicas, "replica"))
    number = recorded.decision.number
    reason, why = why_none(share, recorded.decision)
    line = f"#{number} asked {share.cluster}, and it got none: {why}"
    return WhyNot(share.cluster, "lost", recorded.name, reason, (line,))


def _of_losers(
    recorded: Recorded,
    losers: Losers,
    place: str,
    *,
    inside: str = "",
    whole: bool = False,
    whose: str = "it",
) -> Iterator[WhyNot]:
    """What is told of a place among those who lost, whose names are to be read behind ``inside``.

    ``whole`` says that whoever lost as a node lost with each of its disks, and that a cluster is told of by
    the first of its nodes.
    """
    number = recorded.decision.number
    for name, code in losers.named:
        full = f"{inside}{name}"
        if full == place or (whole and (_is_in(place, full) or _is_in(full, place))):
            line = f"#{number} did not put {whose} there; {full}: {why_lost(code, LOSERS_TOLD)}"
            yield WhyNot(place, "lost", recorded.name, code, (line,))
    total = sum(many for _, many in losers.counts)
    if total > len(losers.named):
        counted = words.amounts(losers.counts)
        line = (
            f"if {place} lost in #{number}, it is one of the {total - len(losers.named)} that the"
            f" record does not name; all of them by reason: {counted}"
        )
        yield WhyNot(place, "not_named", recorded.name, None, (line,))


def _of_steps(recorded: Recorded, placement: DiskPlacement, place: str) -> Iterator[WhyNot]:
    """What is told of a place to which replicas of a volume did not go: each of them was placed by itself."""
    lost: list[WhyNot] = []
    counted_only: list[WhyNot] = []
    for step in placement.steps:
        told = list(_of_step(recorded, step, place))
        lost += [one for one in told if one.verdict == "lost"][:1]
        counted_only += [one for one in told if one.verdict != "lost"]
    if lost:
        yield _of_each(recorded, placement, lost)
    yield from counted_only


def _of_each(recorded: Recorded, placement: DiskPlacement, lost: Sequence[WhyNot]) -> WhyNot:
    """What kept replicas off a place, each told of by itself: by reason, and the first of each reason."""
    first: dict[str, WhyNot] = {}
    reasons = Counter[str]()
    for one in lost:
        assert one.reason is not None, "who lost is told why"
        reason = one.reason.partition(" ")[0]
        first.setdefault(reason, one)
        reasons[reason] += 1
    lines = tuple(line for one in first.values() for line in one.lines)
    if len(placement.steps) > 1:
        by_reason = words.amounts(reasons.items())
        kept_off = f"{len(lost)} of {count(len(placement.steps), 'replica')}"
        lines = (
            f"#{recorded.decision.number} kept {kept_off} off {lost[0].place}, by reason: {by_reason}",
            *lines,
        )
    return replace(lost[0], lines=lines, reasons=dict(reasons))


def _of_step(recorded: Recorded, step: Step, place: str) -> Iterator[WhyNot]:
    number = recorded.decision.number
    of_losers = list(_of_losers(recorded, step.losers, place, whole=True, whose=step.replica))
    if any(name == place for name, _ in step.losers.named):
        # A disk that could not be picked says so itself, whatever became of its node.
        yield from of_losers
        return
    for stage in disks.stages(step):
        for rank, (name, one) in enumerate(stage[1:], 2):
            # A node is weighed with all its disks.
            if _is_in(name, place) or _is_in(place, name):
                line = (
                    f"#{number} weighed {name} for {step.replica}, and it came {rank} of"
                    f" {len(stage)}: with it the set scores {one.score}, with {stage[0][0]}"
                    f" {stage[0][1].score}"
                )
                yield WhyNot(place, "lost", recorded.name, "outranked", (line,))
    yield from (one for one in of_losers if one.verdict == "lost")
    not_named = [line for one in of_losers if one.verdict != "lost" for line in one.lines]
    if len(step.nodes) == LOSERS_NAMED + 1 < step.candidates:
        line = (
            f"if {place} was weighed for {step.replica} in #{number}, it came behind the first"
            f" {len(step.nodes)}, which are those that the record names; `--full` has all"
        )
        not_named.append(line)
    if not_named:
        yield WhyNot(place, "not_named", recorded.name, None, tuple(not_named))


def _of_disks(recorded: Recorded) -> bool:
    """Whether a decision is about the replicas of a volume."""
    outcome = recorded.decision.outcome
    wanted: str = outcome.wanted if isinstance(outcome, Refusal) else outcome.kind
    return wanted == "disk_placement"


def _who_asks(of: Derivation, asked: Sequence[Recorded], spoken: _Spoken) -> Recorded:
    """The decision that would have asked a place: of a node the newest deployment on its cluster."""
    if spoken.noun == "node":
        cluster = spoken.said.subject.partition("/")[0]
        for recorded in asked:
            outcome = recorded.decision.outcome
            if isinstance(outcome, Deployment) and outcome.cluster == cluster:
                return recorded
    return of.recorded


def _state(said: Told) -> list[str]:
    """What a place was told to be, as far as that keeps work away."""
    verb = said.type.split(".")[3]
    if verb in ("removed", "reclaiming"):
        what = "was removed" if verb == "removed" else "is about to be taken away"
        return [f"{said.subject} {what} by event {said.position}"]
    states = ", ".join(f"{name} {said.data[name]}" for name in STATES if name in said.data)
    states = states or "ready, and takes work"
    return [f"{said.subject} was told by event {said.position}: {states.lower()}"]


def _not_asked(of: Derivation, by: Recorded, spoken: _Spoken) -> str:
    """Why nobody asked a place that is there."""
    wish = of.wished.get("division") or {}
    number, outcome = by.decision.number, by.decision.outcome
    match outcome:
        case Division() | Refusal(wanted="division") if spoken.noun == "node":
            return "there is no deployment of it on nodes of that cluster"
        case Division() | Refusal(wanted="division") if wish.get("clusters"):
            return f"the workload names its clusters: {', '.join(sorted(wish['clusters']))}"
        case Division() | Refusal(wanted="division") if wish.get("cluster_selector"):
            return f"the workload selects clusters by {words.spelled(wish['cluster_selector'])}"
        case Division() | Refusal(wanted="division") if wish.get("weights"):
            return f"the workload has weights for {', '.join(sorted(wish['weights']))} only"
        case Deployment(cluster=cluster) if not _is_in(spoken.said.subject, cluster):
            return f"only nodes of {cluster} are asked for this part of the workload"
        case Deployment() if not outcome.asked:
            return f"#{number} placed nothing, so it asked no node"
        case Deployment(cluster=cluster):
            return f"#{number} asked the nodes of {cluster}, and says nothing of this one"
        case Allocation() | Eviction() | Refusal(wanted="allocation"):
            return "a round counts the nodes that lack something, and names none of them"
        case DiskPlacement() if not outcome.steps:
            return f"#{number} placed nothing, so it asked no disk"
        case DiskPlacement() | Refusal(wanted="disk_placement"):
            return f"#{number} says nothing of this place"
        case _:
            return "the decision does not concern it"
