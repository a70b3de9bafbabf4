"""A volume's replicas on disks: which are in force, what came and went, and how each disk was found.

The result is complete: all replicas that are in force after the decision, and their size. Whoever
wants to know what a volume has reads its last disk placement and takes off what was lost since.

A replica that was placed has a step: why it was wanted, the rung of the ladder on which a disk was
found, what named the disk, and who was weighed in both stages with exact scores. The first of those
who lost are told, the others counted by reason.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from ledger.facts.canonical import Plain
from ledger.facts.reason import Cause, Losers, carried_out, losers_plain, losers_read
from ledger.units import Bytes, ClusterName, DecisionNumber, NodeName, Uid

WhyReleased = Literal["lost", "failed", "surplus", "evicting", "waited", "gone", "proposal"]
"""Its disk is gone; it broke and will not come back; fewer are wanted; its disk is to be emptied and
its replacement is there; it was waited for in vain and its replacement is there; its volume is gone; an approved
proposal moved it."""

WhyPlaced = Literal["missing", "waited", "evicting", "proposal"]
"""There were too few; or it replaces one that was waited for in vain, or one whose disk is to be
emptied, or one that an approved proposal moves."""


class InForce(NamedTuple):
    """A replica and its disk."""

    replica: str
    number: int
    cluster: ClusterName
    """Empty where the fleet does not name its cluster."""
    node: NodeName
    disk: str


class Gone(NamedTuple):
    """A replica that is not in force any more, and where it was: the node as cluster/node."""

    replica: str
    node: NodeName
    disk: str
    why: WhyReleased


class Weighed(NamedTuple):
    """A node or a disk in a stage: the best one first, then those that came after it."""

    name: str
    score: str
    """What the set would score with the replica there; or that it has none, and why."""
    room: int
    """Usable bytes before, none where they are below zero."""


@dataclass(frozen=True, slots=True)
class Step:
    """How the disk of a replica was found."""

    replica: str
    why: WhyPlaced
    instead: str | None
    """The replica that it replaces."""
    rung: str
    rule: str
    """What named the disk: it was the only one, the balance, or signed bytes (overcommitted)."""
    overcommitted: bool
    candidates: int
    nodes: tuple[Weighed, ...]
    """Empty where no scores were needed; so is the next."""
    disks: tuple[Weighed, ...]
    """Of the node that won."""
    losers: Losers
    """Nodes and disks that could not be picked: a code and the numbers that were compared, or the
    rung and the replicas that keep others away. One that is ``infeasible`` is a candidate all the same: it has
    fewer usable bytes than the replica takes, and counts in the scores."""

    @property
    def node_score(self) -> str | None:
        """Of the node that won."""
        return self.nodes[0].score if self.disks else None

    @property
    def disk_score(self) -> str | None:
        """Of the disk that won."""
        return self.disks[0].score if self.disks else None


@dataclass(frozen=True, slots=True)
class DiskPlacement:
    """What a volume has on the disks of its fleet."""

    volume: str
    uid: Uid
    wanted: int
    """How many replicas."""
    size: Bytes
    """In force: that of each replica."""
    previous_size: Bytes
    replicas: tuple[InForce, ...]
    """By number."""
    complete: bool
    """Whether nothing that is wanted was refused."""
    released: tuple[Gone, ...]
    steps: tuple[Step, ...]
    alpha: Fraction
    scope: str
    because: tuple[Cause, ...]
    proposal: DecisionNumber | None = None
    """The approved proposal that it carries out."""

    kind: Literal["disk_placement"] = "disk_placement"


def result(placement: DiskPlacement) -> Plain:
    """The answer."""
    return {
        "volume": placement.volume,
        "uid": placement.uid,
        "size": placement.size,
        "replicas": [one._asdict() for one in placement.replicas],
        "complete": placement.complete,
    }


def reasons(placement: DiskPlacement) -> Plain:
    """The numbers behind it."""
    alpha = placement.alpha
    return {
        "because": placement.because,
        "wanted": placement.wanted,
        "previous_size": placement.previous_size,
        "released": [one._asdict() for one in placement.released],
        "steps": [_step_plain(step) for step in placement.steps],
        "alpha": [alpha.numerator, alpha.denominator],
        "scope": placement.scope,
        **carried_out(placement.proposal),
    }


def read(answer: dict[str, Any], why: dict[str, Any]) -> DiskPlacement:
    """What ``result`` and ``reasons`` spelled."""
    return DiskPlacement(
        volume=answer["volume"],
        uid=answer["uid"],
        wanted=why["wanted"],
        size=answer["size"],
        previous_size=why["previous_size"],
        replicas=tuple(InForce(**one) for one in answer["replicas"]),
        complete=answer["complete"],
        released=tuple(Gone(**one) for one in why["released"]),
        steps=tuple(_step(step) for step in why["steps"]),
        alpha=Fraction(*why["alpha"]),
        scope=why["scope"],
        because=tuple(why["because"]),
        proposal=why.get("proposal"),
    )


def _step_plain(step: Step) -> Plain:
    return {
        "replica": step.replica,
        "why": step.why,
        "instead": step.instead,
        "rung": step.rung,
        "rule": step.rule,
        "overcommitted": step.overcommitted,
        "candidates": step.candidates,
        "nodes": [one._asdict() for one in step.nodes],
        "disks": [one._asdict() for one in step.disks],
        "losers": losers_plain(step.losers),
    }


def _step(plain: dict[str, Any]) -> Step:
    return Step(
        **{
            **plain,
            "nodes": tuple(Weighed(**one) for one in plain["nodes"]),
            "disks": tuple(Weighed(**one) for one in plain["disks"]),
            "losers": losers_read(plain["losers"]),
        }
    )
