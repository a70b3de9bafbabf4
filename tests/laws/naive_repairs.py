"""A slow, literal model of repairs: what belongs on on-demand nodes and is on spot nodes.

After each event every open proposal is looked at: whether what it would move is where it was, and
whether the nodes that it would go to are there. Who was decided about, who wants another number of them or
on-demand ones, whose proposal is over, and who sits on a node whose labels changed, is looked at anew; how one
finds another place is for the model of deployments to say. Whoever was short when it was looked at last is
looked at after every event, whatever that was: if more can be mended than is proposed, that is proposed.

Where the ledger does not decide the nodes of a workload its pods are looked at after every event, all
of them (``tests.laws.naive_evictions``). A pod that is gone or ended, or of another life, is not where
it was; one on another node is, so what is open of it is replaced and not withdrawn. What they have too
many on-demand is proposed beside that, and lowered where they are.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from ledger.facts.control import ProposalApproved
from ledger.facts.event import Fact
from tests.laws.model import bytewise
from tests.laws.naive_admissions import NaiveAdmissions
from tests.laws.naive_deployments import NaiveDeployments
from tests.laws.naive_evictions import NaiveEvictions
from tests.laws.naive_fleet import NaiveFleet
from tests.laws.naive_part import Moment, Said


class Move(NamedTuple):
    """An instance that would go to another node, or a pod that would be evicted."""

    thing: str
    """The number or the name."""
    out: str
    into: str
    """Nowhere, if evicted or lowered."""


@dataclass(slots=True)
class Open:
    """A proposal that nobody approved yet."""

    number: int
    life: int
    """Of the workload."""
    moves: list[Move]
    seats: list[tuple[str, int] | None]
    """Where that is which would be moved; of a pod, which life of it."""
    lives: list[int]
    """Of the nodes that it would go to, if it would go to any."""


@dataclass(slots=True)
class NaiveRepairs:
    """What is proposed without being asked for."""

    fleet: NaiveFleet
    deployments: NaiveDeployments
    admissions: NaiveAdmissions
    open: dict[tuple[str, str], Open] = field(default_factory=dict)
    """By subject, and whether it is a ``repair`` or a ``surplus``."""
    labels: dict[str, tuple[int, object]] = field(default_factory=dict)
    """Of each node, with its life."""
    looked_at: set[str] = field(default_factory=set)
    short: set[str] = field(default_factory=set)
    """Who was when it was looked at last."""
    wishes: dict[str, tuple[object, ...]] = field(default_factory=dict)
    """What says how many belong on on-demand nodes, of whoever has any."""
    approved: set[int] = field(default_factory=set)
    evictions: NaiveEvictions = field(init=False)

    def __post_init__(self) -> None:
        self.evictions = NaiveEvictions(self.fleet, self.deployments, self.admissions)
        self.fleet.parts.append(self)

    def moments(self) -> list[Moment]:
        """Nothing runs out."""
        return []

    def fired(self, moment: Moment) -> None:
        """Only what follows matters."""

    def heard(self, fact: Fact, subject: str) -> None:
        """Somebody says yes to what is open."""
        if isinstance(fact, ProposalApproved):
            if fact.proposal in self.evicting() and fact.proposal not in self.approved:
                self.approved.add(fact.proposal)
            else:
                self.fleet.effect = "no_effect"

    def settled(self) -> None:
        """Nothing follows."""

    def evicting(self) -> list[int]:
        """The numbers of those that are open and evict or lower pods."""
        return sorted(one.number for one in self.open.values() if not one.lives)

    def carried_out(self, moment: Moment | None) -> list[Said]:
        """Targets first, then everything that is approved and open."""
        said = self.deployments.targets_decided(moment)
        for about, one in sorted(self.open.items(), key=lambda item: item[1].number):
            if one.number not in self.approved:
                continue
            del self.open[about]
            subject, what = about
            kind = "od" if what == "surplus" else "spot"
            if all(
                self.evictions.is_still(subject, move.thing, move.out, kind) for move in one.moves
            ):
                made = self._heading("repair", subject, one.number, moment)
                made.rows = {move.thing: move.out for move in one.moves}
                if what == "surplus":
                    for move in one.moves:
                        self.evictions.lower(subject, move.thing)
                        made.released.append(move.thing)
                else:
                    self.evictions.told_to_go |= {seat for seat in one.seats if seat is not None}
            else:
                made = self._heading("refusal", subject, one.number, moment)
                made.reason, made.waits_for = "not_movable", "nothing"
            said.append(made)
        self.approved = set()
        return said

    def folded(self) -> None:
        """Who is withdrawn, and on which nodes the labels changed."""
        for about, one in list(self.open.items()):
            if not self._stands(about[0], one):
                self._withdraw(about)
        self._see_wishes()
        before = self.labels
        self.labels = {
            key: (self.fleet.life("node", key), node.labels)
            for key, node in self.fleet.all("node").items()
        }
        for key, (life, labels) in self.labels.items():
            was_life, was = before.get(key, (life, labels))
            if was_life == life and was != labels:
                self.looked_at |= {
                    subject
                    for subject, standing in self.deployments.standing.items()
                    if key in standing.count()
                }

    def decide(self, moment: Moment | None) -> list[Said]:
        """Whoever was decided about is withdrawn; then everybody concerned is looked at."""
        for made in self.fleet.said:
            if made.number >= self.fleet.first and made.kind in {"deployment", "capacity_class"}:
                self.looked_at.add(made.subject)
                for about in list(self.open):
                    if made.kind == "deployment" and made.subject == about[0]:
                        self._withdraw(about)
        self._see_wishes()
        self.looked_at |= self.evictions.subjects()
        self.looked_at |= {about[0] for about, one in self.open.items() if not one.lives}
        said = []
        for subject in bytewise(self.looked_at | self.short):
            moves = self._moves(subject)
            if subject not in self.looked_at:
                open_ = self.open.get((subject, "repair"))
                if len(moves) > (0 if open_ is None else len(open_.moves)):
                    said += self._propose(subject, "repair", moves, moment)
                continue
            moves += [Move(name, out, "") for name, out in self.evictions.going(subject)]
            said += self._propose(subject, "repair", moves, moment)
            lower = [Move(name, out, "") for name, out in self.evictions.too_many(subject)]
            said += self._propose(subject, "surplus", lower, moment)
        self.looked_at = set()
        return said

    def _propose(
        self, subject: str, what: str, moves: list[Move], moment: Moment | None
    ) -> list[Said]:
        """Say it, unless that is what is proposed already."""
        open_ = self.open.get((subject, what))
        if moves == ([] if open_ is None else open_.moves):
            return []
        before = None if open_ is None else open_.number
        made = self._heading("proposal", subject, before, moment)
        made.reason = what
        made.rows = {one.thing: f"{one.out} -> {one.into}" for one in moves}
        self.open.pop((subject, what), None)
        if moves:
            self.open[subject, what] = Open(
                made.number,
                self.fleet.life("workload", subject.split("@", maxsplit=1)[0]),
                moves,
                [self._seat(subject, one) for one in moves],
                [self.fleet.life("node", one.into) for one in moves if one.into],
            )
        return [made]

    def _see_wishes(self) -> None:
        """Who wants to have other on-demand ones than before."""
        before, self.wishes = self.wishes, {}
        for subject, wanted in self.deployments.known.items():
            name, cluster = subject.split("@")
            fact = self.fleet.fact("workload", name)
            share = self.fleet.shares(name).get(cluster, 0)
            if fact is not None and self.deployments.standing[subject].held:
                self.wishes[subject] = wanted.life, share, fact.kind, fact.min_available
                if subject in before and before[subject] != self.wishes[subject]:
                    self.looked_at.add(subject)

    def _heading(
        self, kind: str, subject: str, previous: int | None, moment: Moment | None
    ) -> Said:
        """Of a decision that is the last one about nobody."""
        number = self.fleet.number
        self.fleet.number += 1
        ran_out = None if moment is None else (moment.kind, moment.subject)
        return Said(number, self.fleet.position, ran_out, kind, subject, previous)

    def _withdraw(self, about: tuple[str, str]) -> None:
        self.fleet.ended.append(("proposal", about[0], self.open.pop(about).number))
        if about[1] == "repair":
            self.looked_at.add(about[0])

    def _stands(self, subject: str, one: Open) -> bool:
        name = subject.split("@", maxsplit=1)[0]
        if (
            self.fleet.fact("workload", name) is None
            or self.fleet.life("workload", name) != one.life
        ):
            return False
        if [self._seat(subject, move) for move in one.moves] != one.seats:
            return False
        for move, life in zip((move for move in one.moves if move.into), one.lives, strict=True):
            node = self.fleet.fact("node", move.into)
            if node is None or self.fleet.life("node", move.into) != life:
                return False
            if not (node.ready or move.into in self.fleet.node_grace_until):
                return False
        return True

    def _seat(self, subject: str, move: Move) -> tuple[str, int] | None:
        """Where an instance is, or which life of a pod; None where it is not any more."""
        if not move.into:
            return self.evictions.life(subject, move.thing)
        one = self.deployments.standing[subject].held.get(int(move.thing))
        return None if one is None else (one.node, one.node_life)

    def _moves(self, subject: str) -> list[Move]:
        """Who would go where; this is to look at it."""
        self.short.discard(subject)
        model = self.deployments
        turn = model._turn(subject)
        if turn is None or turn.deploy.strategy in {"FILL", "EACH"}:
            return []
        held = turn.standing.held
        model._split(turn)
        lowest = turn.on_demand or set()
        label = self.fleet.setting("spot.label", "node.kubernetes.io/capacity")
        spot = label, self.fleet.setting("spot.spot", "spot")
        short = sorted(
            number
            for number, one in held.items()
            if number in lowest and spot in self.fleet.fact("node", one.node).labels
        )
        if short:
            self.short.add(subject)
        before = dict(held)
        model.began_with[subject] = turn.standing.numbers()
        self.fleet.book.asking = turn.workload, turn.cluster
        moves: list[Move] = []
        for number in short:
            one = held[number]
            if (one.request, one.selector) != (turn.fact.request, turn.deploy.node_selector):
                continue
            nodes = model._seen(turn, "on_demand")
            chosen = model._chosen(turn, nodes, 1, model._rule(turn))
            if isinstance(chosen, str):
                break
            model._put(turn, chosen, [number])
            moves.append(Move(str(number), one.node, held[number].node))
        turn.standing.held = before
        self.fleet.book.asking = None
        model.began_with = {}
        return moves
