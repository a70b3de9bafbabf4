"""Why something is not on a cluster, a node or a disk: what the record says, or why nobody asked it.

A record names the first of those who lost, and counts the others by reason. Of one that is not named,
what it was told to be by then often says which reason was its own. A place of which no event speaks
was not there to be asked.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from ledger.cli.explain import disks, words
from ledger.cli.explain.deployments import LOSERS_TOLD
from ledger.cli.explain.derivation import Derivation
from ledger.cli.explain.divisions import why_none
from ledger.cli.explain.sections import why_lost
from ledger.facts.allocation import Allocation
from ledger.facts.deployment import Deployment
from ledger.facts.disk_placement import DiskPlacement
from ledger.facts.division import ClusterShare, Division
from ledger.facts.reason import Losers
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


async def why_not(
    connection: Connection,
    of: Derivation,
    standing: Sequence[Recorded],
    parts: Sequence[str],
    place: str,
    in_force: Sequence[Place],
    *,
    at: int = NEWEST,
) -> WhyNot:
    """Why the subject of a decision, or one of its parts, is not at a place.

    What is there is for the views to say: records stay when what they placed goes.
    """
    fleet = of.decision.fleet
    asked = [of.recorded, *standing]
    for subject in parts:
        # Nodes are asked by the part of a workload that is on their cluster.
        found = await derivations.newest(connection, fleet, subject, ["deployment"], at=at)
        if found is not None and found.name != of.recorded.name:
            asked.append(found)
    there = [one for one in in_force if _is_at(_where(one), place)]
    if there and parts:
        return await _it_is(connection, fleet, there, place)
    told = [one for recorded in asked for one in _told(recorded, place)]
    if any(one.verdict == "it_was" for one in told) and there:
        return await _it_is(connection, fleet, there, place)
    for recorded in sorted(asked, key=lambda one: one.decision.number, reverse=True):
        for verdict in ("it_was", "lost"):
            for one in _told(recorded, place):
                if one.verdict == verdict:
                    return _since(one, of, at)
    # A decision that was named is asked about its own moment, a subject about now.
    known = of.decision.position - (of.decision.deadline is not None)
    said = await _said(connection, fleet, asked, place, at=at if parts else known)
    if said is None:
        told_nothing = f"{place} was not asked: no event by then speaks of it"
        return WhyNot(place, "unknown", of.recorded.name, None, (told_nothing,))
    if told:
        return WhyNot(place, "not_named", told[0].decision, None, (*told[0].lines, *_state(said)))
    why = _not_asked(of, place)
    if said.position > known:
        why = f"what is said of it now came after #{of.decision.number} was decided"
    lines = (f"{place} was not asked: {why}", *_state(said))
    return WhyNot(place, "not_asked", of.recorded.name, None, lines)


def _told(recorded: Recorded, place: str) -> Iterator[WhyNot]:
    """What one decision says of a place, if it says anything."""
    outcome = recorded.decision.outcome
    match outcome:
        case Division():
            for share in outcome.shares:
                if share.cluster == place:
                    yield _of_share(recorded, share)
            yield from _of_losers(recorded, outcome.losers, place)
        case Deployment():
            node = place.removeprefix(f"{outcome.cluster}/")
            held = sum(one.node == node for one in outcome.instances)
            if held:
                yield _it_was(recorded, place, f"{held} of its instances")
            yield from _of_losers(recorded, outcome.losers, place, short=node)
        case DiskPlacement():
            for one in outcome.replicas:
                if _is_at(disks.where(one), place):
                    yield _it_was(recorded, place, one.replica)
            yield from _of_steps(recorded, outcome, place)
        case Allocation():
            there = sum(place in (one.node, f"{one.cluster}/{one.node}") for one in outcome.tasks)
            if there:
                yield _it_was(recorded, place, f"{there} of its tasks")
        case Refusal():
            cluster = recorded.decision.subject.rpartition("@")[2]
            node = place.removeprefix(f"{cluster}/")
            yield from _of_losers(recorded, outcome.losers, place, short=node)
        case _:
            return


def _is_at(full: str, place: str) -> bool:
    """Whether a disk is the one that is meant, or on the node that is."""
    return f"/{full}/".find(f"/{place}/") >= 0


def _where(one: Place) -> str:
    return "/".join(filter(None, (one.cluster, one.node, one.disk)))


async def _it_is(connection: Connection, fleet: str, there: Sequence[Place], place: str) -> WhyNot:
    """What is in force at a place, of the kind that says it first: a cluster has its share, and nodes."""
    kind = next(kind for kind in IN_FORCE if any(one.kind == kind for one in there))
    of_kind = [one for one in there if one.kind == kind]
    held, number = sum(one.held for one in of_kind), max(one.number for one in of_kind)
    by = await derivations.decision(connection, fleet, number)
    assert by is not None, "what is in force was decided"
    what = _replicas(held) if kind == "division" else f"{held} of its {IN_FORCE[kind]}"
    line = f"it is: #{number} has {what} on {place}"
    return WhyNot(place, "it_is", by.name, None, (line,))


def _replicas(count: int) -> str:
    return "1 replica" if count == 1 else f"{count} replicas"


def _it_was(recorded: Recorded, place: str, what: str) -> WhyNot:
    """What a decision put somewhere; whether it is still there its record does not say."""
    line = f"it was: #{recorded.decision.number} put {what} on {place}"
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
        return _it_was(recorded, share.cluster, _replicas(share.replicas))
    number = recorded.decision.number
    reason, why = why_none(share, recorded.decision.lot)
    line = f"#{number} asked {share.cluster}, and it got none: {why}"
    return WhyNot(share.cluster, "lost", recorded.name, reason, (line,))


def _of_losers(
    recorded: Recorded, losers: Losers, place: str, *, short: str = "", whose: str = "it"
) -> Iterator[WhyNot]:
    number = recorded.decision.number
    for name, code in losers.named:
        # Who is looked at as a whole node is a loser with each of its disks.
        if name in (place, short) or place.startswith(f"{name}/") or name.endswith(f"/{place}"):
            line = f"#{number} did not put {whose} there; {name}: {why_lost(code, LOSERS_TOLD)}"
            yield WhyNot(place, "lost", recorded.name, code, (line,))
    total = sum(count for _, count in losers.counts)
    if total > len(losers.named):
        counted = words.amounts(losers.counts)
        line = (
            f"if {place} lost in #{number}, it is one of the {total - len(losers.named)} that the"
            f" record does not name; all of them by reason: {counted}"
        )
        yield WhyNot(place, "not_named", recorded.name, None, (line,))


def _of_steps(recorded: Recorded, placement: DiskPlacement, place: str) -> Iterator[WhyNot]:
    number = recorded.decision.number
    for step in placement.steps:
        node = step.nodes[0].name if step.nodes else ""
        stages = (
            [(one.name, one) for one in step.nodes],
            [(f"{node}/{one.name}", one) for one in step.disks],
        )
        for stage in stages:
            for rank, (name, one) in enumerate(stage[1:], 2):
                if _is_at(name, place):
                    line = (
                        f"#{number} weighed {name} for {step.replica}, and it came {rank} of"
                        f" {len(stage)}: with it the set scores {one.score}, with {stage[0][0]}"
                        f" {stage[0][1].score}"
                    )
                    yield WhyNot(place, "lost", recorded.name, "outranked", (line,))
        yield from _of_losers(recorded, step.losers, place, whose=step.replica)


async def _said(
    connection: Connection, fleet: str, asked: Sequence[Recorded], place: str, *, at: int
) -> Told | None:
    """The newest event that speaks of the place, by any of the names it may have been given."""
    clusters = sorted({cluster for recorded in asked for cluster in _clusters(recorded)})
    names = [place, *(f"{cluster}/{place}" for cluster in clusters)]
    return await derivations.last_said(connection, fleet, names, PLACE_TOLD, at=at)


def _clusters(recorded: Recorded) -> Iterator[str]:
    """Where a decision has anything."""
    match recorded.decision.outcome:
        case Division(shares=shares):
            yield from (share.cluster for share in shares)
        case Deployment(cluster=cluster):
            yield cluster
        case DiskPlacement(replicas=replicas):
            yield from (one.cluster for one in replicas)
        case Allocation(tasks=tasks):
            yield from (task.cluster for task in tasks)
        case _:
            yield recorded.decision.subject.rpartition("@")[2]


def _state(said: Told) -> list[str]:
    """What a place was told to be, as far as that keeps work away."""
    noun = said.type.split(".")[2]
    if noun in ("removed", "reclaiming"):
        what = "was removed" if noun == "removed" else "is about to be taken away"
        return [f"{said.subject} {what} by event {said.position}"]
    states = ", ".join(f"{name} {said.data[name]}" for name in STATES if name in said.data)
    states = states or "ready, and takes work"
    return [f"{said.subject} was told by event {said.position}: {states.lower()}"]


def _not_asked(of: Derivation, place: str) -> str:
    """Why nobody asked a place that is there."""
    wish = of.wished.get("division") or {}
    match of.outcome:
        case Division() if "/" in place:
            return "there is no deployment of it on nodes of that cluster"
        case Division() | Refusal() if wish.get("clusters"):
            return f"the workload names its clusters: {', '.join(sorted(wish['clusters']))}"
        case Division() | Refusal() if wish.get("cluster_selector"):
            return f"the workload selects clusters by {wish['cluster_selector']}"
        case Division() | Refusal() if wish.get("weights"):
            return f"the workload has weights for {', '.join(sorted(wish['weights']))} only"
        case Deployment() as deployment if not deployment.asked:
            return f"#{of.decision.number} placed nothing, so it asked no node"
        case Deployment() as deployment:
            return f"only nodes of {deployment.cluster} are asked for this part of the workload"
        case Allocation():
            return "a round counts the nodes that lack something, and names none of them"
        case _:
            return "the decision does not concern it"
