"""Which instances would go to other nodes of their cluster, so that a workload is more evenly spread.

What is even is for the strategy of the workload to say: AUTO evens out how many instances each node
has, GLOBAL how far each node is used; DRAINED, FILL and EACH even out nothing, and nothing of theirs is
moved. A move takes one away where a smaller share would, from the node with the most instances or the
highest usage, the highest number first, and places it anew where the strategy places one more; where
that does not lower the score, the workload is as even as it gets. Instances on nodes that take no new
ones stay, and so do those that belong on on-demand nodes and are elsewhere: that is for a repair to mend.
No instance is moved twice.

The score of a workload is ``spread`` over the nodes that may take its instances: the mean square
deviation over the square of the mean. Several workloads are taken in the order of their names, each as
the ones before it leave the nodes, and their scores, each as its turn came, are added up.

A subject is a workload in a cluster, a workload in all its clusters, a cluster, or everything. The
bytes of a move are what the instance has of its node's storage.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple

from ledger.decisions.planned import Limits, Planned
from ledger.decisions.seats import Floor, Seats
from ledger.facts.canonical import Plain
from ledger.facts.deployment import Instance
from ledger.facts.proposal import Proposed, WhyNoMore
from ledger.reducers.instances import node_of, subject_of
from ledger.reducers.world import World
from ledger.units import ClusterName, NodeName, Subject

MEASURE: Final = "spread"

EVENED: Final = frozenset({"AUTO", "GLOBAL"})
"""The strategies that make something even."""

Amount = int | Fraction


class Step(NamedTuple):
    """A move that lowers the score of its workload."""

    number: int
    out: NodeName
    into: NodeName
    score: Fraction
    """Of the workload, afterwards."""


def plan(world: World, subject: Subject, limits: Limits) -> Planned | None:
    """The moves that a subject allows; None where nobody knows of it."""
    subjects = _meant(world, subject)
    if subjects is None:
        return None
    floor = Floor(world)
    scores: list[Fraction] = []
    gains: list[Fraction] = []
    moves: list[Proposed] = []
    inputs: list[Plain] = []
    ended: WhyNoMore = "no_better_move"
    size = 0
    for one in subjects:
        seats = floor.of(one)
        if seats is None or seats.deploy.strategy not in EVENED:
            continue
        turn = _Turn(world, seats, _movable(seats))
        score = turn.score()
        inputs.append(turn.told(one))
        if score is None:
            continue
        scores.append(score)
        while ended == "no_better_move" and (step := turn.step(score)) is not None:
            move = _proposed(one, seats, step)
            if len(moves) == limits.moves:
                ended = "max_moves"
            elif limits.size is not None and size + move.size > limits.size:
                ended = "max_bytes"
            else:
                floor.move(seats, step.number, step.into)
                turn.has_moved(step)
                moves.append(move)
                size += move.size
                gains.append(score - step.score)
                score = step.score
    if not scores:
        return Planned(MEASURE, None, None, (), "undefined", lambda: inputs)
    before = after = sum(scores, Fraction(0))
    told: list[Proposed] = []
    for move, gain in zip(moves, gains, strict=True):
        assert gain > 0, "every move lowers the score"
        after -= gain
        told.append(move._replace(score=after))
    return Planned(MEASURE, before, after, tuple(told), ended, lambda: inputs)


def _meant(world: World, subject: Subject) -> Sequence[Subject] | None:
    """The workloads in clusters that a subject means, in the order of their names."""
    deployments = world.deployments
    if str(subject) == world.fleet:
        return sorted(deployments.of)
    if subject in deployments.of:
        return [subject]
    if subject in deployments.clusters:
        clusters = sorted(deployments.clusters[subject])
        return [
            one for one in (subject_of(subject, name) for name in clusters) if one in deployments.of
        ]
    if ClusterName(subject) in world.clusters:
        return [
            one for one in sorted(deployments.of) if deployments.of[one].cluster == str(subject)
        ]
    return None


def _proposed(subject: Subject, seats: Seats, step: Step) -> Proposed:
    cluster = seats.held.cluster
    return Proposed(
        subject=subject,
        thing=str(step.number),
        out=node_of(cluster, step.out),
        into=node_of(cluster, step.into),
        size=seats.instances[step.number].terms.storage,
        score=step.score,
    )


@dataclass(slots=True)
class _Turn:
    """One workload while its moves are looked for."""

    world: World
    seats: Seats
    movable: dict[NodeName, list[int]]
    """The numbers that were not moved yet, in order, on each node that has any."""

    def has_moved(self, step: Step) -> None:
        """The last one of a node was moved, and is not moved again."""
        numbers = self.movable[step.out]
        assert numbers.pop() == step.number, f"{step.number} was not the highest on {step.out}"
        if not numbers:
            del self.movable[step.out]

    def score(self) -> Fraction | None:
        """How uneven it is; None where nothing is on any node that could take more."""
        return _spread([self._amount(name) for name in sorted(self.seats.nodes.schedulable)])

    def step(self, before: Fraction) -> Step | None:
        """The move that leaves the lowest score, if that is lower than before."""
        among = ("all",) if self.seats.target is None else ("od", "spot")
        steps = [step for pool in among if (step := self._step(pool)) is not None]
        best = min(steps, key=lambda step: (step.score, step.out, step.into), default=None)
        return None if best is None or best.score >= before else best

    def told(self, subject: Subject) -> Plain:
        """From what its moves are looked for."""
        seats, nodes = self.seats, self.seats.nodes
        return {
            "subject": subject,
            "strategy": seats.deploy.strategy,
            "limit": seats.deploy.nodes_limit,
            "target": seats.target,
            "instances": [[one.number, one.node] for one in seats.held.instances],
            "nodes": [
                [name, nodes.class_of(name), nodes.capacity(name), str(self._amount(name))]
                for name in sorted(nodes.schedulable)
            ],
        }

    def _step(self, among: str) -> Step | None:
        """One is taken away where most is, and placed anew."""
        seats, nodes = self.seats, self.seats.nodes
        pool = nodes.schedulable.intersection(nodes.pool(among))
        out = max(
            (name for name in self.movable if name in pool),
            key=lambda name: (self._amount(name), name),
            default=None,
        )
        if out is None:
            return None
        number = self.movable[out][-1]
        one = seats.instances[number]
        kept = dict(nodes.held)
        nodes.give_back(one)
        seats.counts[out] -= 1
        into = seats.place_for_one(self.world, among)
        step = None
        if into is not None and into != out:
            (bound,) = nodes.plans(into, 1)
            nodes.take(Instance(number, into, seats.terms, *bound))
            seats.counts[into] += 1
            score = self.score()
            assert score is not None, "what it had is still on some node"
            step = Step(number, out, into, score)
            seats.counts[into] -= 1
        seats.counts[out] += 1
        nodes.as_it_was(kept)
        return step

    def _amount(self, name: NodeName) -> Amount:
        """What the strategy makes even."""
        if self.seats.deploy.strategy == "AUTO":
            return self.seats.counts[name]
        return self.seats.nodes.load(name).usage


def _movable(seats: Seats) -> dict[NodeName, list[int]]:
    numbers: dict[NodeName, list[int]] = {}
    for number in sorted(seats.instances):
        if seats.movable(number) and not seats.misplaced(number):
            numbers.setdefault(seats.instances[number].node, []).append(number)
    return numbers


def _spread(amounts: Sequence[Amount]) -> Fraction | None:
    total = sum(amounts)
    if total <= 0:
        return None
    return Fraction(sum(one * one for one in amounts) * len(amounts), total * total) - 1
