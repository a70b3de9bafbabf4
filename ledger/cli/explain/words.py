"""What the codes of a record mean, for people.

Records hold codes and numbers; prose is made on reading. A code that is not listed here is shown as
it is: it is better than nothing, and the pages about the rules have it.
"""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from ledger.facts.reason import Cause, Deadline
from ledger.facts.refusal import Refusal

CAUSES: Final[Mapping[Cause, str]] = {
    "edited": "its own wish changed",
    "candidates": "the clusters it may go to came or went",
    "rescheduled": "somebody asked for it to be decided again",
    "fresh": "somebody asked for it to be decided again, from nothing",
    "share": "its share of the division changed",
    "lost": "some of what it had was lost",
    "reclaiming": "a node that holds some of it is about to be taken away",
    "failed": "a replica broke",
    "waited": "a broken replica was waited for long enough",
    "evicting": "a disk that holds some of it is to be emptied",
    "gone": "it is gone",
    "queue": "its queue is not there, or came",
    "round": "a round of jobs closed",
    "policy": "it had been refused, and the policy changed",
    "room": "it had been refused, and there is more room",
    "requested": "somebody asked for a proposal",
    "deficit": "too few are on on-demand nodes",
    "surplus": "more are on-demand than are due",
    "approved": "what was proposed was approved",
    "admission": "a pod is about to be created",
    "target": "it had been refused, and another part of it belongs on on-demand nodes",
}
"""Why a subject was asked."""

DEADLINES: Final[Mapping[str, str]] = {
    "grace": "a cluster had been not ready for too long",
    "node_grace": "a node had been not ready for too long",
    "replenish": "a broken replica had been waited for long enough",
    "reservation": "admitted pods had not been seen for too long",
    "round": "the time of a round was over",
}

BRANCHES: Final[dict[str, str]] = {
    "keep": "the last result stays",
    "apportioned": "every replica to the strongest claim",
    "duplicated": "every cluster gets all of them",
    "scale_up": "what was missing, by availability",
    "scale_down": "less, by what is held",
    "given_up": "what is not wanted any more was given up",
    "edited": "changed to its new wish",
    "replaced": "what was lost was placed again",
    "reclaimed": "what was about to be taken away found other places",
    "placed": "what was wanted found its places",
    "released": "what is not wanted any more was released",
    "resized": "another size",
    "moved": "what was proposed and approved was moved",
    "proposed": "what would be better was proposed; nothing moves before it is approved",
    "nothing_to_move": "nothing would be better",
    "slots": "as many of a template as belong on on-demand nodes, whichever they are",
    "reinvoked": "it carries what it was given before",
    "list_first": "its template's pods are to be listed before it is answered",
    "passthrough": "nothing was asked for, or nobody can tell: it is left as it is",
    "refused": "not served; what is in force stays in force",
    "fresh": "everything anew, as somebody wanted",
    "single": "one replica or none: it runs on an on-demand node",
    "ordinal": "the lowest ordinals of a set belong on on-demand nodes, always a majority",
    "evicted": "pods are to go, as was proposed and approved",
    "lowered": "pods are to count no more as on-demand, as was proposed and approved",
}
"""What was done, where no explainer of ``ledger solve`` says it."""

LOST_BECAUSE: Final[Mapping[str, str]] = {
    "unknown": "is not there",
    "not_ready": "is not ready",
    "cluster_not_ready": "its cluster is not ready",
    "reclaiming": "is about to be taken away",
    "selector": "does not have the labels that are selected by",
    "unschedulable": "takes no new work",
    "other_class": "is of the other capacity class",
    "cpu": "has too little cpu for what is wanted",
    "memory": "has too little memory for what is wanted",
    "storage": "has too little storage for what is wanted",
    "volumes": "has too little room on its devices for what is wanted",
    "pods": "has too few places for pods for what is wanted",
    "not_whole_pieces": "has cores in pieces of which what is wanted is no whole number",
    "no_region": "names no region, and regions were chosen",
    "swapped_out": "gave its place to one with more room",
    "region_not_chosen": "its region was not chosen",
    "not_needed": "was not needed: those before it were enough",
    "node_not_ready": "its node is not ready",
    "node_not_schedulable": "its node takes no new replicas",
    "node_not_allowed": "its node is not allowed to hold replicas",
    "not_schedulable": "takes no new replicas",
    "no_disk_allowed": "has no disk that may be used",
    "rebuild_limit": "rebuilds as many replicas as a node may",
    "outranked": "was weighed, and another was better balanced",
    "not_allowed": "is not allowed to hold replicas",
    "evicting": "is to be emptied",
    "wrong_type": "is of another type than the volume",
    "disk_tags": "does not have the tags that are selected by",
    "node_tags": "its node does not have the tags that are selected by",
    "image_tags": "does not have the tags that the image of the volume selects by",
    "maximum_not_positive": "has no size",
    "available_not_positive": "has nothing available",
    "actual_space": "would have too little left once the volume is written",
    "scheduling_space": "would be promised more than may be promised of it",
    "physical_minimum": "would have too little left",
    "physical_limit": "would be used more than it may be",
    "disk_pressure": "would be too full",
    "infeasible": "has fewer usable bytes than a replica takes",
}
"""Why somebody got nothing, where no explainer of ``ledger solve`` says it."""

COMPARED_IN_BYTES: Final = frozenset(
    {
        "maximum_not_positive",
        "available_not_positive",
        "actual_space",
        "scheduling_space",
        "physical_minimum",
        "physical_limit",
        "infeasible",
    }
)
"""Those who lost because two numbers of bytes were compared."""

SHORT_OF: Final[Mapping[str, str]] = {
    "no_candidate_cluster": "no cluster it may go to is there and ready",
    "too_few_clusters": "there are fewer clusters than it is to be spread over",
    "too_few_regions": "there are fewer regions than it is to be spread over",
    "no_eligible_node": "no node of the cluster takes new work for it",
    "insufficient_resource": "the nodes have too little room",
    "insufficient_capacity": "there is too little room",
    "too_many_instances": "these are more instances than a cluster is made for",
    "anti_affinity": "its replicas are to be kept apart, and are in each other's way",
    "shrink": "a volume cannot become smaller",
    "scheduling_space": "a disk would be promised more than may be promised of it",
    "physical_minimum": "a disk would have too little left",
    "physical_limit": "a disk would be used more than it may be",
    "disk_pressure": "a disk would be too full",
    "unknown_queue": "its queue is not known",
    "queue_closed": "its queue is closed",
    "evicted": "its tasks were evicted in the round, and wait for the next",
    "gang_short": "fewer of its tasks could run together than it needs",
    "queue_limit": "with one more task its queue would hold more than it deserves",
    "node_fit": "no node has room for one of its tasks",
    "queue_overused": "its queue has all it deserves",
    "being_decided": "something it would move is decided about anyway",
    "not_movable": "something it would move is not there, broken, or has to leave",
    "target_unavailable": "nothing new may go where something would move",
    "unsuitable": "something does not want to be where it would move",
    "no_room": "there is too little room where something would move",
    "unknown_subject": "nothing of that name has places that could be moved",
    "invalid_cpu": "what it asks for of cpu means nothing",
    "invalid_volume": "one of the volumes it asks for means nothing",
}
"""What could not be had."""

TOO_LITTLE: Final = frozenset({"insufficient_resource", "insufficient_capacity"})

NO_ROOM_HELPS: Final[Mapping[str, str]] = {
    "limit": "the limit on a node lets fewer be on the nodes there are",
    "nodes": "there are fewer nodes than it is to be on",
    "whole_pieces": "what it asks for of cpu is whole pieces of a core on no node",
}
"""What deployments can be short of that more room on the same nodes does not give them."""

CAPS_TOO_SMALL: Final = "the caps of the clusters it may go to let fewer be there"
"""Why a division is short of room that does not wait for nodes."""


_UNITS: Final = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))


def cores(milli: int) -> str:
    """An amount of cpu as Kubernetes spells it."""
    return str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"


def bytes_(amount: int) -> str:
    """An amount of bytes in the largest unit in which it is whole."""
    for unit, size in _UNITS:
        if amount and amount % size == 0:
            return f"{amount // size}{unit}"
    return str(amount)


def wish(said: Mapping[str, Any], names: Iterable[str]) -> str:
    """What an event says under these names, as far as it says something, in a line."""
    return ", ".join(clause(name, said[name]) for name in names if said.get(name) is not None)


def clause(name: str, value: Any) -> str:
    """What an event says under a name, as people spell it and not as a program does."""
    if isinstance(value, bool):
        return name if value else f"not {name}"
    return f"{name} {_amount(name, value)}"


def _amount(name: str, value: Any) -> str:
    if name == "size" and isinstance(value, int) and not isinstance(value, bool):
        return bytes_(value)
    return spelled(value)


def spelled(value: Any) -> str:
    """A value of an event for people."""
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case Mapping():
            return " ".join(f"{name}={spelled(value[name])}" for name in sorted(value))
        case list() | tuple():
            return " ".join(map(spelled, value))
        case _:
            return str(value)


def other_wish(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """What one event says of a thing otherwise than the one before it did, in a line."""
    was, is_ = dict(_flat(before)), dict(_flat(now))
    return ", ".join(
        f"{clause(name, is_.get(name))} in place of {_amount(name, was.get(name))}"
        for name in sorted({*was, *is_} - {"revision"})
        if was.get(name) != is_.get(name)
    )


def _flat(said: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What is said of the parts of a thing as if it were said of the thing."""
    for name, value in said.items():
        if isinstance(value, Mapping) and name in ("division", "deploy", "request"):
            yield from ((f"{name} {part}", value[part]) for part in value)
        else:
            yield name, value


def reason(code: str) -> str:
    """Why something was refused, with its code."""
    told = SHORT_OF.get(code)
    return code if told is None else f"{told} ({code})"


def refused(refusal: Refusal) -> str:
    """The same of a whole refusal: what it is short of may tell more than a code does."""
    told = None
    if refusal.reason in TOO_LITTLE and refusal.wanted == "division":
        told = None if refusal.waits_for == "nodes" else CAPS_TOO_SMALL
    elif refusal.reason in TOO_LITTLE:
        told = _no_room_helps(refusal)
    return reason(refusal.reason) if told is None else f"{told} ({refusal.reason})"


def _no_room_helps(refusal: Refusal) -> str | None:
    """Why a deployment is refused whose nodes may have room enough; None where some part lacks room."""
    parts = [name.removesuffix("wanted") for name, _ in refusal.detail if name.endswith("_wanted")]
    told: set[str] = set()
    for part in parts:
        short = _short_of(refusal, f"{part}short_")
        if not short or not short <= NO_ROOM_HELPS.keys():
            return None
        told |= short
    return "; ".join(NO_ROOM_HELPS[what] for what in sorted(told)) or None


def _short_of(refusal: Refusal, after: str) -> set[str]:
    """The amounts that a deployment, or a part of it, is short of."""
    found = (name.partition(after) for name, _ in refusal.detail)
    return {what for _, is_short, what in found if is_short}


def waits_for(refusal: Refusal, subject: str) -> str:
    """What has to come before the refused is asked again."""
    cluster = subject.rpartition("@")[2]
    match refusal.waits_for:
        case "cluster":
            return "It waits for a cluster that it may go to."
        case "nodes" if "@" in subject and refusal.reason == "no_eligible_node":
            return f"It waits for nodes of {cluster} that take new work for it."
        case "nodes" if "@" in subject and _short_of(refusal, "_short_") & NO_ROOM_HELPS.keys():
            return (
                f"It waits for other nodes of {cluster}, or for another wish:"
                " more room on those there are is not enough."
            )
        case "nodes" if "@" in subject:
            return f"It waits for nodes of {cluster}, or for room on them."
        case "nodes":
            return "It waits for nodes, or for room on them."
        case "disks":
            return "It waits for disks, or for room on them."
        case "queue":
            return "It waits for its queue."
        case "round":
            return "It waits for the next round of jobs."
        case "specification":
            return "It waits for another wish: as it is it cannot be served."
        case "nothing":
            return "It waits for nothing: it was asked once, and what was in force stays."
        case other:
            return f"It waits for {other}."


def because(causes: Iterable[Cause], otherwise: Mapping[Cause, str] | None = None) -> str:
    """Why it was asked, in a clause; some causes may be spelled ``otherwise``."""
    told = {**CAUSES, **(otherwise or {})}
    return "; ".join(told[cause] for cause in causes)


def ran_out(deadline: Deadline) -> str:
    """What happened when nothing else did."""
    return f"{DEADLINES.get(deadline.kind, deadline.kind)} ({deadline.kind} of {deadline.subject})"


def amounts(detail: Iterable[tuple[str, int | str]]) -> str:
    """Names and numbers, as one reads them aloud."""
    told = dict(detail)
    found = []
    for name, number in told.items():
        parts = told.get(f"{name}{_IN_PARTS_OF}", 1)
        if isinstance(number, str) or isinstance(parts, str):
            found.append(f"{name.replace('_', ' ')} {number}")
        elif not name.endswith(_IN_PARTS_OF):
            found.append(f"{name.replace('_', ' ')} {amount(name, number, parts)}")
    return ", ".join(found)


_IN_PARTS_OF: Final = "_in_parts_of"
_OF_BYTES: Final = ("memory", "storage", "volumes", "expansion", "shrink", "short")


def amount(name: str, number: int, parts: int = 1) -> str:
    """A number, or so many parts of one, in the unit that its name tells of."""
    unit = name.replace(" ", "_").rpartition("_")[2]
    if name.startswith("lacking"):  # Nodes are counted that lack something, and not what they lack.
        return str(number)
    if number % parts:
        return f"{Fraction(number, parts)}{'m' if unit == 'cpu' else ''}"
    whole = number // parts
    if unit == "cpu":
        return cores(whole)
    return bytes_(whole) if unit in _OF_BYTES else str(whole)


def short_by(refusal: Refusal) -> tuple[tuple[str, int], ...]:
    """By how much each wanted amount was short; nothing where the reason is no amount."""
    told = dict(refusal.detail)
    found = []
    for name in sorted(told):
        part, is_amount, resource = name.partition("short_")
        if is_amount:
            found.append((f"{part}{resource}".replace("_", " "), told[name]))
        if name.endswith("_short"):
            found.append((name.removesuffix("_short"), told[name]))
        what = name.removesuffix("wanted").rstrip("_")
        if not name.endswith("wanted"):
            continue
        for had in (f"{what}_found" if what else "found", "room"):
            if had in told:
                found.append((what or "in all", told[name] - told[had]))
                break
    return tuple(found)
