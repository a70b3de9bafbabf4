"""A division told: weights or room, the last result, the arithmetic again, and who could not take part."""

from collections.abc import Mapping
from typing import Any

from ledger.cli.counting import count
from ledger.cli.explain import words
from ledger.cli.explain.derivation import Derivation
from ledger.cli.explain.sections import Sections, losers, rows, why_lost
from ledger.facts.decision import Decision, LotUse
from ledger.facts.division import ClusterShare, Division, Selection
from ledger.facts.refusal import Refusal


def tell(of: Derivation, division: Division, sections: Sections) -> None:
    """What was asked, known and done; the draw and the steps that are redone are told elsewhere."""
    sections.asked += _asked(of, division)
    sections.known += _known(division)
    sections.last_result += _last(of)
    if division.selection is not None:
        sections.steps += [*_selected(division.selection), ""]
    sections.losers += _losers(of, division)
    sections.changed += _changed(division)


def _asked(of: Derivation, division: Division) -> list[str]:
    lines = [
        (
            f"{count(division.replicas, 'replica')} of {of.decision.subject} over clusters, {division.strategy}"
            f" (uid {division.uid})"
        )
    ]
    wish = of.wished.get("division")
    if of.wish is not None and isinstance(wish, dict):
        told = ", ".join(_clause(name, wish[name]) for name in sorted(wish) if wish[name])
        lines.append(f"told by event {of.wish.position}: {told}")
    return lines


def _clause(name: str, value: Any) -> str:
    match value:
        case Mapping():
            return f"{name} {' '.join(f'{key}={_plain(value[key])}' for key in sorted(value))}"
        case _:
            return words.clause(name, value)


def _plain(value: Any) -> str:
    if isinstance(value, list) and all(one is None or isinstance(one, int) for one in value):
        return "..".join("" if one is None else str(one) for one in value)
    return words.spelled(value)


def _known(division: Division) -> list[str]:
    asked_for_room = any(share.available is not None for share in division.shares)
    head = ["cluster", "weight", "held", *(["available"] if asked_for_room else [])]
    body = [
        [
            share.cluster,
            "-" if share.weight is None else str(share.weight),
            str(share.previous),
            *([_count(share.available)] if asked_for_room else []),
        ]
        for share in division.shares
    ]
    lines = rows(head, body, numbers=range(1, len(head)))
    fairness = division.fairness
    if fairness is not None:
        lines.append(
            f"by policy: inertia {fairness.inertia}, kappa {fairness.kappa}"
            " (how far weights and not room make the odds)"
        )
    if division.names_descend is not None:
        which = "later" if division.names_descend else "earlier"
        lines.append(f"among equal claims the {which} name comes first: the uid says so")
    return lines


def came_and_went(of: Derivation, division: Division) -> list[str]:
    """Which clusters it may go to came or went since it was divided, or refused, last."""
    last = None if of.last is None else of.last.decision.outcome
    if "candidates" not in division.because or not isinstance(last, Division):
        return []
    if division.selection is not None or last.selection is not None:
        return []  # Of those that might have been chosen a record has the chosen ones.
    assert of.last is not None, "it is a division"
    by, without = of.last.decision.number, dict(last.losers.named)
    now = {share.cluster for share in division.shares}
    before = {share.cluster for share in last.shares}
    refusal = None if of.ended is None else of.ended.decision.outcome
    if of.ended is not None and isinstance(refusal, Refusal):
        by, without = of.ended.decision.number, dict(refusal.losers.named)
        before = before - without.keys()
        if refusal.reason == "no_candidate_cluster":
            before = set()
    lines = []
    held = {share.cluster for share in last.shares if share.replicas} | {
        one for one, _ in last.left
    }
    for cluster in sorted(now - before):
        came = "came back" if cluster in held else "came"
        why = f"; #{by} had said of it: {why_lost(without[cluster])}" if cluster in without else ""
        lines.append(f"{cluster} {came}{why}")
    lines += [f"{cluster} went" for cluster in sorted(before - now)]
    return lines


def _count(value: int | None) -> str:
    return "-" if value is None else str(value)


def _last(of: Derivation) -> list[str]:
    if of.last is None:
        return ["none"]
    last = of.last.decision
    outcome = last.outcome
    assert isinstance(outcome, Division), "the last result of a division is one"
    places = ", ".join(
        f"{share.cluster} {share.replicas}" for share in outcome.shares if share.replicas
    )
    return [
        (
            f"#{last.number} at position {last.position}: {outcome.replicas} by {outcome.strategy}:"
            f" {places or 'nowhere'}"
        )
    ]


def _selected(selection: Selection) -> list[str]:
    need = "" if selection.need is None else f" There had to be room for {selection.need}."
    lines = [f"Who takes part, in the order of the places.{need}"]
    body = [[one.cluster, str(one.score), str(one.room), one.why] for one in selection.chosen]
    lines += rows(["cluster", "score", "room", "why"], body, numbers=range(1, 3))
    lines += [
        f"For room, a place went from {swap.out} to {swap.into}: {swap.room} together."
        for swap in selection.swaps
    ]
    if selection.regions:
        body = [[one.region, str(one.score), one.why] for one in selection.regions]
        lines += rows(["region", "score", "why"], body, numbers=range(1, 2))
    return lines


def _losers(of: Derivation, division: Division) -> list[str]:
    """Who could not take part, who was in the lot and not drawn, and who was weighed and got none."""
    drawn = () if of.decision.lot is None else of.decision.lot.draws
    lines = [
        f"{share.cluster}: was in the lot and not drawn"
        f"{f', and has its whole part, {share.replicas}' if share.replicas else ''}"
        for share in division.shares
        if share.odds is not None and share.cluster not in drawn
    ]
    if division.replicas:
        lines += [
            f"{share.cluster}: got none: {why} ({reason})"
            for share in division.shares
            if not share.replicas and share.odds is None
            for reason, why in [why_none(share, of.decision)]
        ]
    if lines and not division.losers.counts:
        return lines
    return lines + losers(division.losers)


def why_none(share: ClusterShare, decision: Decision) -> tuple[str, str]:
    """Why a cluster that took part got nothing: a code, and what it means."""
    if decision.branch == "keep" and share.weight is None:
        return "kept", "it had none, and what is wanted adds up without it"
    if share.weight is None:
        return "no_part", "it took no part: others had room enough"
    if decision.branch == "scale_down" and share.weight == 0:
        return "no_weight", "it had none, and fewer are divided by what is held"
    if not share.weight and share.weight is not None:
        return "no_weight", "its weight, or its room, is 0"
    if share.odds is not None:
        drawn = "nobody" if decision.lot is None else ", ".join(decision.lot.draws)
        told = f"its whole part is 0, and it was in the lot (odds {share.odds}): {drawn} won"
        return "not_drawn", told
    if share.floor == 0:
        return "floor", "its whole part is 0, and others have what the whole parts left over"
    return "weaker_claim", "others had the stronger claim to every replica"


def lot(used: LotUse, division: Division) -> list[str]:
    """Which stream was read, who was in it, and who was drawn."""
    what = {"winners": "who gets one of those left over", "keepers": "who keeps what they hold"}
    drawn = "" if division.fairness is None else (division.fairness.drawn or "")
    return [
        f"lot: salt {used.salt!r}, workload {used.workload!r}, epoch {used.epoch}",
        f"drawn, {what.get(drawn, 'in order')}: {', '.join(used.draws) or 'nobody'}",
    ]


def _changed(division: Division) -> list[str]:
    changes = [
        f"{share.cluster} {share.previous} -> {share.replicas}"
        for share in division.shares
        if share.previous != share.replicas
    ]
    changes += [f"{cluster} {replicas} -> 0" for cluster, replicas in division.left]
    return [", ".join(changes) if changes else "nothing"]
