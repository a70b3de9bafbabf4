"""How even disks are, and which of them takes the next replica when all may be used."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, Literal

from pydantic import Field, model_validator

from ledger.cli.counting import count
from ledger.cli.solve.asking import Count, Op, Question, Ratio, Refused, Written
from ledger.cli.solve.telling import table
from ledger.core.disk import space
from ledger.core.disk.balance import absolute_score, balance_score, ratio_score
from ledger.core.disk.choice import Choice, NoDisk, Scope, choose, require_addresses
from ledger.core.disk.sequence import Policy, Succession, place_in_sequence
from ledger.core.disk.weighing import Score, Weighing, weigh
from ledger.units import NodeName

ONE: Final = Fraction(1)

MOST_LOOKS: Final = 1_000_000
"""Volumes times disks of one sequence. A count is written with a few digits and costs a pass each."""

Accounting = Literal["plain", "net"]
"""Whether the bytes that replicas have written count twice, as reports have it, or once."""

Amounts = dict[str, Count | None]


class Scoring(Question):
    """``disk.balance_score``."""

    usable: dict[str, int | None]
    total: Amounts = Field(default={})
    alpha: Ratio = ONE


class Selecting(Scoring):
    """``disk.select``."""

    size: Count
    scope: Scope = "node"
    restrict_to: list[str] | None = None

    @model_validator(mode="after")
    def _restricted_to_members(self) -> "Selecting":
        for name in self.restrict_to or []:
            if self.usable.get(name) is None:
                raise ValueError(f"restrict_to names {name!r}, of which usable says nothing")
        return self


class DiskBytes(Question):
    """A disk by its name and its bytes."""

    id: str
    maximum: Count
    available: Count
    reserved: Count = 0
    scheduled: Count = 0
    written: Count = 0

    def disk(self, node: str, accounting: Accounting) -> space.Disk:
        """The disk as the core knows it."""
        return space.Disk(
            node=NodeName(node),
            name=self.id,
            maximum=self.maximum,
            available=self.available,
            reserved=self.reserved,
            scheduled=self.scheduled,
            written=self.written if accounting == "net" else None,
        )


class PlainDisk(DiskBytes):
    """A disk that says on which node it is."""

    node: str


class Picking(Question):
    """``disk.pick``."""

    disks: list[PlainDisk]
    size: Count
    alpha: Ratio = ONE
    scope: Scope = "node"
    accounting: Accounting = "plain"


class InSequence(Question):
    """``disk.sequence``; ``unit`` only says what the amounts are in."""

    disks: Amounts
    size: Count
    volumes: Count
    unit: str = ""
    alpha: Ratio = ONE
    scope: Scope = "node"
    policy: Policy = "balance"
    written_fraction: Ratio = Fraction(0)

    @model_validator(mode="after")
    def _is_finished_soon(self) -> "InSequence":
        if self.volumes * max(1, len(self.disks)) > MOST_LOOKS:
            raise ValueError(f"volumes times disks must be at most {MOST_LOOKS}")
        return self


def answer_balance_score(asked: Scoring) -> Written:
    """The score and its two halves."""
    usable, totals = _stated(asked.usable), _stated(asked.total)
    return {
        "score": spoken(balance_score(usable, totals, asked.alpha)),
        "absolute": spoken(absolute_score(usable)),
        "ratio": spoken(ratio_score(usable, totals)),
    }


def explain_balance_score(asked: Scoring) -> str:
    """Range over mean, of the bytes and of the ratios."""
    usable, totals = _stated(asked.usable), _stated(asked.total)
    ratios = {name: Fraction(usable[name], totals[name]) for name in usable if totals.get(name)}
    answer = answer_balance_score(asked)
    return "\n".join(
        [
            f"Score {answer['score']} at alpha {asked.alpha}.",
            f"Absolute {answer['absolute']}: {_range_told(usable)}",
            f"Ratio {answer['ratio']}: {_range_told(ratios)}",
        ]
    )


def answer_select(asked: Selecting) -> Written:
    """One stage by itself: every score, and the best."""
    stage = _stage(asked)
    place = stage.best(undefined_wins=asked.scope == "node")
    return {
        "scores": stage.scores(),
        "pick": None if place is None else stage.names[place],
        "decided_by": None if place is None else stage.decided_by(),
    }


def explain_select(asked: Selecting) -> str:
    """The members from the best to the worst."""
    stage = _stage(asked)
    place = stage.best(undefined_wins=asked.scope == "node")
    first = "Nothing can be picked." if place is None else f"Picked: {stage.names[place]}."
    return "\n".join([first, "", *_stage_told(stage)])


def answer_pick(asked: Picking) -> Written:
    """The node, then the disk on it."""
    return choice_written(_picked(asked))


def explain_pick(asked: Picking) -> str:
    """Both stages."""
    return "\n".join(choice_told(_picked(asked), size=asked.size, alpha=asked.alpha))


def answer_sequence(asked: InSequence) -> Written:
    """Where volume after volume goes."""
    placed = _in_sequence(asked)
    return {
        "picks": list(placed.picks),
        "overcommitted": list(placed.overcommitted),
        "usable_unclamped_after": dict(placed.usable_after),
    }


def explain_sequence(asked: InSequence) -> str:
    """The picks by number, and what is usable then."""
    placed = _in_sequence(asked)
    rows = [["volume", "disk", ""]]
    for number, (disk, over) in enumerate(zip(placed.picks, placed.overcommitted, strict=True)):
        rows.append([str(number + 1), disk, "overcommitted" if over else ""])
    left = ", ".join(f"{name} {amount}" for name, amount in placed.usable_after.items())
    return "\n".join([*table(rows), "", f"Usable then: {left}."])


def spoken(score: Score | None) -> Fraction | str:
    """A score as it is written: also where there is none."""
    return "undefined" if score is None else score


def choice_written(choice: Choice) -> Written:
    """The disk, how it was found, and all scores."""
    disk = choice.disk
    return {
        "pick": disk.name,
        "node": disk.node,
        "rule": choice.rule,
        "overcommitted": choice.overcommitted,
        "usable": disk.usable,
        "counted_twice": disk.usable - disk.plainly_usable,
        "node_scores": choice.node_scores,
        "disk_scores": choice.disk_scores,
        "decided_by": {
            "node": _decided(choice.node_stage),
            "disk": _decided(choice.disk_stage),
        },
    }


def choice_told(choice: Choice, *, size: int, alpha: Fraction) -> list[str]:
    """The same with both stages as tables."""
    disk = choice.disk
    lines = [
        f"{disk.name} on node {disk.node} for {count(size, 'byte')}, by {choice.rule}, alpha {alpha}.",
        (
            f"Usable there: {disk.available} - {disk.reserved} - {disk.scheduled} = "
            f"{disk.plainly_usable}."
        ),
    ]
    if disk.usable != disk.plainly_usable:
        lines.append(f"Counting written bytes once: {disk.usable}.")
    if choice.overcommitted:
        lines.append(f"Overcommitted: {disk.usable} usable is less than {size}.")
    for name, stage in (("Nodes", choice.node_stage), ("Disks", choice.disk_stage)):
        if stage is not None:
            lines += ["", f"{name}, from the best to the worst:", *_stage_told(stage)]
    return lines


def _stated(amounts: Mapping[str, int | None]) -> dict[str, int]:
    return {name: amount for name, amount in amounts.items() if amount is not None}


def _stage(asked: Selecting) -> Weighing:
    return weigh(
        _stated(asked.usable),
        _stated(asked.total),
        size=asked.size,
        alpha=asked.alpha,
        restrict_to=asked.restrict_to,
    )


def _picked(asked: Picking) -> Choice:
    disks = [disk.disk(disk.node, asked.accounting) for disk in asked.disks]
    require_addresses(disks)
    return _named(choose(disks, size=asked.size, alpha=asked.alpha, scope=asked.scope))


def _named(choice: Choice | NoDisk) -> Choice:
    if isinstance(choice, Choice):
        return choice
    where = {
        "none": "there is none",
        "node": "no node with room has a score",
        "disk": "no disk of the best node has room and a score",
    }
    raise Refused(choice.code, f"no disk for {count(choice.size, 'byte')}: {where[choice.stage]}")


def _in_sequence(asked: InSequence) -> Succession:
    placed = place_in_sequence(
        _stated(asked.disks),
        size=asked.size,
        volumes=asked.volumes,
        written=asked.written_fraction,
        policy=asked.policy,
        alpha=asked.alpha,
        scope=asked.scope,
    )
    if isinstance(placed, Succession):
        return placed
    raise Refused(placed.code, f"no disk for {asked.size} {asked.unit or 'bytes'}")


def _decided(stage: Weighing | None) -> str | None:
    return stage.decided_by() if stage is not None and stage.feasible else None


def _stage_told(stage: Weighing) -> list[str]:
    ranking = stage.ranking()
    rows = [["name", "usable", "after", "total", "score"]]
    for place in [*ranking, *(place for place in stage.listed if place not in ranking)]:
        before = stage.usable[place]
        after = str(before - stage.size) if place in ranking else ""
        score = ranking.get(place, "infeasible")
        rows.append([stage.names[place], str(before), after, str(stage.totals[place]), str(score)])
    return table(rows)


def _range_told(amounts: Mapping[str, int] | Mapping[str, Fraction]) -> str:
    if not amounts:
        return "there is nothing to score."
    values = amounts.values()
    total = sum(values)
    return f"({max(values)} - {min(values)}) * {len(values)} / {total}."


OPS: Final[tuple[Op[Any], ...]] = (
    Op(
        "disk.balance_score",
        "how uneven a set of disks is",
        Scoring,
        answer_balance_score,
        explain_balance_score,
    ),
    Op(
        "disk.select",
        "the best place in one set, with all scores",
        Selecting,
        answer_select,
        explain_select,
    ),
    Op(
        "disk.pick",
        "the best node, then the best disk on it",
        Picking,
        answer_pick,
        explain_pick,
    ),
    Op(
        "disk.sequence",
        "where volume after volume goes on one node",
        InSequence,
        answer_sequence,
        explain_sequence,
    ),
)
