"""Decisions that place nothing, told: targets of on-demand instances, admissions, incidents, proposals, repairs."""

from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Final

from ledger.cli.counting import be, count
from ledger.cli.explain import words
from ledger.cli.explain.derivation import Derivation
from ledger.cli.explain.sections import ROWS_TOLD, Sections
from ledger.facts.admission import LIST_FIRST, Admission
from ledger.facts.capacity_class import CapacityClass
from ledger.facts.incident import Incident, What
from ledger.facts.own import UserPin
from ledger.facts.proposal import Proposal, WhyNoMore
from ledger.facts.reason import Cause
from ledger.facts.repair import Repair

FOUND: Final[Mapping[What, str]] = {
    "over_committed": "more is held on the node than it declares",
    "pods_beyond_instances": "more pods are seen there than the ledger placed",
    "share_base_kept": "the node wanted to be divided into other pieces while some were given out",
    "late_confirmation": "pods came whose reservations had been given up",
    "weight_invalid": "the weight that the quota says of its namespace is none",
    "guarantee_infeasible": "queues are guaranteed more than there is to share out",
}

TOO_MUCH: Final[Collection[What]] = ("over_committed", "guarantee_infeasible")
"""What tells by how much."""


NO_MORE_BECAUSE: Final[Mapping[WhyNoMore, str]] = {
    "undefined": "nothing has a score",
    "no_better_move": "no other move would lower the score",
    "max_moves": "so many moves it may have",
    "max_bytes": "so many bytes it may move",
}


NO_MORE: Final[Mapping[Cause, str]] = {
    "deficit": "there were too few on on-demand nodes, and now there are enough",
    "surplus": "there were more on-demand than are due, and now there are not",
}
"""Why it was asked, where it says that a proposal is no longer needed."""


def tell_target(of: Derivation, target: CapacityClass, sections: Sections) -> None:
    """How many instances belong on on-demand nodes; the arithmetic is told by ``ledger solve``."""
    sections.asked.append(
        f"how many of {count(target.share, 'instance')} of {target.namespace}/{target.workload} on"
        f" {target.cluster} belong on on-demand nodes"
    )
    if of.wish is not None:
        read = of.wished.get("min_available")
        told = "no min_available" if read is None else f"min_available {read}"
        sections.asked.append(f"told by event {of.wish.position}: {told}")
    sections.known.append(f"{_counted(target.read)}; mode {target.mode}")
    if target.flags:
        sections.known.append(f"flags: {' '.join(target.flags)}")
    before = _belong(target.previous, _mode_before(of, target))
    now = _belong(target.target, target.mode)
    sections.last_result.append(before)
    if of.wish is None:  # Else the question is asked again, and tells the arithmetic.
        sections.steps.append(now)
    sections.losers.append("nobody")
    sections.changed.append(f"{before} -> {now}")


def _counted(text: str | None) -> str:
    """The text from which a target follows."""
    return "no text counted" if text is None else f"the text that counted: {text}"


def _mode_before(of: Derivation, target: CapacityClass) -> str:
    """How the last target was kept: with fewer than two of a workload, and with more, it is another way."""
    last = None if of.last is None else of.last.decision.outcome
    return last.mode if isinstance(last, CapacityClass) else target.mode


def _belong(target: int | None, mode: str) -> str:
    if target is None:
        return "all as they are"
    match mode:
        case "single":
            return "its one pod"
        case "slots":
            return f"{target} of them"
        case _:
            return f"the lowest {target}"


GIVEN: Final[Mapping[UserPin | None, str]] = {
    "od": "it has to run on an on-demand node",
    "spot": "it prefers a spot node",
    None: "it is left as it is",
}


def tell_admission(admission: Admission, sections: Sections) -> None:
    """To which class a pod is admitted; the rule is told by ``ledger solve`` (``spot.sequence``)."""
    of = f"{admission.namespace}/{admission.workload} on {admission.cluster}"
    template = f", template {admission.template_hash}" if admission.template_hash else ""
    sections.asked.append(
        f"admission {admission.admission_uid}: where does a pod of {of} belong{template}"
    )
    known = sections.known
    if admission.share is not None:
        target = "no target" if admission.target is None else f"target {admission.target}"
        majority = "" if admission.majority is None else f"; majority {admission.majority}"
        known.append(
            f"{count(admission.share, 'replica')}; {_counted(admission.read)}; mode"
            f" {admission.mode}; {target}{majority}"
        )
    if admission.told is not None:
        known.append(f"its ReplicaSet is to have {count(admission.told, 'pod')}")
    if admission.flags:
        known.append(f"flags: {' '.join(admission.flags)}")
    steps = sections.steps
    for names, why in (
        (admission.retired, "given up, there is no room for its pod"),
        (admission.assumed_lost, "taken for lost, there is no room beside it"),
    ):
        steps += [f"{name}: {why}" for name in names[:ROWS_TOLD]]
        if len(names) > ROWS_TOLD:
            steps.append(f"and {len(names) - ROWS_TOLD} more")
    if admission.index is not None:
        below = "is" if admission.wanted == "od" else "is not"
        steps.append(
            f"its place in the set, {admission.index}, {below} among the first {admission.target}"
        )
    elif admission.target is not None:
        steps.append(
            f"{admission.on_demand} of {count(admission.live, 'pod')} {be(admission.on_demand)} on-demand,"
            f" {admission.target} {be(admission.target)} due"
        )
    if admission.user_pin is not None:
        steps.append(f"its user wants it so: {GIVEN[admission.user_pin]}")
    if LIST_FIRST in admission.flags:
        steps.append("before it is answered, the pods of the template are to be listed")
    else:
        steps.append(GIVEN[admission.capacity_class])
    if admission.reservation is None:
        sections.changed.append("nothing")
    else:
        sections.changed.append(f"the pod carries the reservation {admission.reservation}")


def tell_incident(incident: Incident, sections: Sections) -> None:
    """What contradicts the book."""
    sections.asked.append("nothing: the book was contradicted")
    sections.steps += [
        f"{incident.node}: {FOUND[incident.what]} ({incident.what})",
        f"{'too much: ' if incident.what in TOO_MUCH else ''}{words.amounts(incident.numbers)}",
    ]
    sections.changed.append("nothing: an incident moves nothing by itself")


def tell_proposal(of: Derivation, proposal: Proposal, sections: Sections) -> None:
    """What would be moved, and what each move is good for."""
    most = "" if proposal.max_bytes is None else f" and {words.bytes_(proposal.max_bytes)}"
    sections.asked.append(
        f"what would make {of.decision.subject} better ({proposal.what}), by at most"
        f" {count(proposal.max_moves, 'move')}{most}"
    )
    sections.known.append(f"scored by {proposal.measure}: less is better")
    for place, move in enumerate(proposal.moves[:ROWS_TOLD], 1):
        into = f"from {move.out} to {move.into}" if move.into else f"from {move.out} evicted"
        if proposal.what == "surplus":
            into = f"on {move.out}: its deletion cost lowered to 0"
        cost = f", {words.bytes_(move.size)}" if move.size else ""
        thing = f"instance {move.thing}" if move.thing.isdigit() else move.thing
        sections.steps.append(f"{place}. {thing} {into}{cost}; the score then: {move.score}")
    if len(proposal.moves) > ROWS_TOLD:
        sections.steps.append(f"and {len(proposal.moves) - ROWS_TOLD} more")
    score = f"the score: {_score(proposal.before)} -> {_score(proposal.after)}"
    sections.steps += [score, f"no more moves: {NO_MORE_BECAUSE[proposal.ended]}"]
    sections.changed.append(
        "nothing before it is approved; the view proposals says what became of it"
        if proposal.moves
        else "nothing: there is nothing to be approved"
    )


def tell_repair(of: Derivation, repair: Repair, sections: Sections) -> None:
    """Which pods are to go, or to be no dearer than any other."""
    what, pods = ("evict pods", repair.evict) if repair.evict else ("lower pods", repair.lower)
    sections.asked.append(f"#{repair.proposal} proposed to {what} of {of.decision.subject}")
    sections.steps += [f"{one.namespace}/{one.pod} on {one.node}" for one in pods[:ROWS_TOLD]]
    if len(pods) > ROWS_TOLD:
        sections.steps.append(f"and {len(pods) - ROWS_TOLD} more")
    sections.changed.append(
        "nothing in the book: whoever runs the pods evicts them"
        if repair.evict
        else "they count no more as on-demand; whoever runs the pods sets their deletion cost to 0"
    )


def _score(score: Fraction | None) -> str:
    return "none" if score is None else str(score)
