"""A disk placement told: each replica that was placed with the rung, the scores and who was kept away."""

from collections.abc import Mapping
from typing import Final

from ledger.cli.counting import count
from ledger.cli.explain import refusals, words
from ledger.cli.explain.derivation import Derivation
from ledger.cli.explain.sections import ROWS_TOLD, Sections, losers, rows
from ledger.facts.disk_placement import (
    DiskPlacement,
    Gone,
    InForce,
    Step,
    Weighed,
    WhyPlaced,
    WhyReleased,
)
from ledger.facts.reason import LOSERS_NAMED

PLACED_BECAUSE: Final[Mapping[WhyPlaced, str]] = {
    "missing": "there were too few",
    "waited": "another was waited for in vain",
    "evicting": "the disk of another is to be emptied",
    "proposal": "an approved proposal moved it",
}

RELEASED_BECAUSE: Final[Mapping[WhyReleased, str]] = {
    "lost": "its disk is gone",
    "failed": "it broke and will not come back",
    "surplus": "fewer are wanted",
    "evicting": "its disk is to be emptied, and its replacement is there",
    "waited": "it was waited for in vain, and its replacement is there",
    "gone": "its volume is gone",
    "proposal": "an approved proposal moved it",
}

RULES: Final[Mapping[str, str]] = {
    "single": "it was the only one",
    "balance": "the set is best balanced with it",
    "most_usable": "no disk had room, and it has most",
    "proposal": "an approved proposal names it",
}

RUNGS: Final[Mapping[str, str]] = {
    "unused_zone": "a zone without replicas of the volume",
    "evict_only_zone": "a zone with replicas that have to leave only",
    "unused_node": "a node without replicas of the volume",
    "evict_only_node": "a node with replicas that have to leave only",
    "used_node": "any node",
    "proposal": "the place that was proposed",
}


def tell(of: Derivation, placement: DiskPlacement, sections: Sections) -> None:
    """Everything a record says of a turn."""
    sections.asked += _asked(of, placement)
    sections.known += [
        f"balanced with alpha {placement.alpha} over {placement.scope}",
        *map(_candidates, placement.steps),
    ]
    sections.last_result += _last(of)
    sections.steps += _steps(of, placement)
    sections.draw.append("no lot: of equal scores the one with more usable bytes, then by name")
    for step in placement.steps:
        sections.losers += [
            f"{step.replica} not on {line}" for line in losers(step.losers) if step.losers.counts
        ]
        sections.losers += [
            f"{step.replica} not on {_named([name for name, _ in stage[1:]])}"
            for stage in stages(step)
            if len(stage) > 1
        ]
    if not sections.losers:
        sections.losers.append("nobody")
    sections.changed += _changed(of, placement)


def _candidates(step: Step) -> str:
    """How many disks passed the filters, and how many of them had the room, too."""
    # The one that was taken for want of a better one is not among those who lost.
    short = dict(step.losers.counts).get("infeasible", 0) + step.overcommitted
    passed = count(step.candidates, "disk")
    if not short:
        return f"for {step.replica}: {passed} could take it"
    return f"for {step.replica}: {step.candidates - short} of {passed} that passed the filters had room for it"


def _named(names: list[str]) -> str:
    """Those who were weighed and came behind the best."""
    if len(names) == 1:
        return f"{names[0]}: {words.LOST_BECAUSE['outranked']}"
    told = ", ".join(names[:ROWS_TOLD])
    if len(names) > ROWS_TOLD:
        told += f" and {len(names) - ROWS_TOLD} more"
    return f"{told}: each was weighed, and another was better balanced"


def where(one: InForce | Gone) -> str:
    """A disk by its full name."""
    if isinstance(one, Gone):
        return f"{one.node}/{one.disk}"
    return "/".join(filter(None, (one.cluster, one.node, one.disk)))


def _asked(of: Derivation, placement: DiskPlacement) -> list[str]:
    lines = [
        (
            f"{count(placement.wanted, 'replica')} of volume {placement.volume}, {words.bytes_(placement.size)}"
            f" each (uid {placement.uid})"
        )
    ]
    if of.wish is not None:
        names = sorted({name for name in of.wished if of.wished[name]} - {"name", "revision"})
        told = words.wish(of.wished, names)
        lines.append(f"told by event {of.wish.position}: {told}")
    return lines


def _last(of: Derivation) -> list[str]:
    if of.last is None:
        return ["none"]
    last = of.last.decision
    outcome = last.outcome
    assert isinstance(outcome, DiskPlacement), "the last result of a volume is one"
    places = ", ".join(f"{one.replica} on {where(one)}" for one in outcome.replicas)
    return [f"#{last.number} at position {last.position}: {places or 'nowhere'}"]


def _steps(of: Derivation, placement: DiskPlacement) -> list[str]:
    lines: list[str] = []
    if placement.size != placement.previous_size and of.last is not None:
        before, now = words.bytes_(placement.previous_size), words.bytes_(placement.size)
        lines.append(f"each replica from {before} to {now}: every disk had room for that")
    placed = {one.replica: where(one) for one in placement.replicas}
    for step in placement.steps:
        lines += [*([""] if lines else []), *_step(step, placed.get(step.replica, "?"))]
    lines += [
        f"{one.replica} released from {where(one)}: {RELEASED_BECAUSE[one.why]}"
        for one in placement.released
    ]
    if not placement.complete:
        lines.append(refusals.not_all(of))
    return lines or [f"nothing was placed or released ({of.decision.branch})"]


def _step(step: Step, place: str) -> list[str]:
    instead = "" if step.instead is None else f", in place of {step.instead}"
    rung = RUNGS.get(step.rung, step.rung)
    rule = RULES.get(step.rule, step.rule)
    lines = [
        f"{step.replica} on {place}: {PLACED_BECAUSE[step.why]}{instead}",
        f"found on {rung} ({step.rung}), of {count(step.candidates, 'disk')}: {rule} ({step.rule})",
    ]
    if step.overcommitted:
        lines.append("the disk is promised more than it has")
    for noun, stage in zip(("node", "disk"), stages(step), strict=True):
        if stage:
            body = [[name, one.score, str(one.room)] for name, one in stage]
            lines += rows([noun, "score", "usable bytes"], body, numbers=range(1, 3))
            if len(stage) == LOSERS_NAMED + 1 < step.candidates:
                lines.append(f"a record has the best {len(stage)}; `--full` has all")
    return lines


def stages(step: Step) -> tuple[list[tuple[str, Weighed]], list[tuple[str, Weighed]]]:
    """Who was weighed by full name: nodes, and the disks of the one that won. Either both or none."""
    node = step.nodes[0].name if step.nodes else ""
    return (
        [(one.name, one) for one in step.nodes],
        [(f"{node}/{one.name}", one) for one in step.disks],
    )


def _changed(of: Derivation, placement: DiskPlacement) -> list[str]:
    last = None if of.last is None else of.last.decision.outcome
    before = (
        {one.replica: where(one) for one in last.replicas}
        if isinstance(last, DiskPlacement)
        else {}
    )
    now = {one.replica: where(one) for one in placement.replicas}
    changes = [
        f"{name}: {before.get(name, 'nowhere')} -> {now.get(name, 'nowhere')}"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]
    return changes or ["nothing"]
