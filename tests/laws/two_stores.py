"""The engine and the naive model keep the same disks through the same history, and where they differ.

    python -m tests.laws.two_stores --seed 1 --histories 2000 --events 220

Each history is a seed (``tests.laws.worn_histories``). Of one in which the two differ the smallest part
is told in which they still do.
"""

import argparse
import pickle
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from ledger.facts.control import ProposalApproved
from ledger.facts.decision import Decision
from ledger.facts.disk_placement import DiskPlacement
from ledger.facts.event import Fact
from ledger.facts.proposal import Proposal
from ledger.facts.refusal import Refusal
from ledger.reducers.replicas import host_name
from tests.histories import FLEET, History, approved, subject_of
from tests.laws.crowded_histories import smallest
from tests.laws.job_histories import Happening
from tests.laws.naive_approvals import NaiveApprovals
from tests.laws.naive_disks import NaiveDisks
from tests.laws.naive_fleet import NaiveFleet
from tests.laws.naive_part import Said, heading
from tests.laws.naive_proposals import NaiveProposals
from tests.laws.worn_histories import history


def told(made: Decision) -> Said:
    """A decision as the naive model says it."""
    said = heading(made)
    match made.outcome:
        case DiskPlacement() as placement:
            there = {
                one.replica: f"{host_name(one.cluster, one.node)}/{one.disk}"
                for one in placement.replicas
            }
            said.rows = {step.replica: there[step.replica] for step in placement.steps}
            said.small = {
                step.replica: [
                    f"{name} {why.removeprefix('infeasible ')}"
                    for name, why in step.losers.named
                    if why.startswith("infeasible ")
                ]
                for step in placement.steps
                if placement.proposal is None
            }
            said.released = sorted(one.replica for one in placement.released)
        case Refusal() as refusal:
            said.rows = {name: str(number) for name, number in refusal.detail}
            said.reason, said.waits_for = refusal.reason, refusal.waits_for
        case Proposal() as proposal:
            said.rows = {one.thing: f"{one.out} -> {one.into}" for one in proposal.moves}
        case _:
            raise AssertionError(f"nobody asked for a {made.kind}")
    return said


@dataclass(slots=True)
class Models:
    """The naive fleet, and its parts that keep disks."""

    fleet: NaiveFleet
    disks: NaiveDisks
    proposals: NaiveProposals


@dataclass(slots=True)
class Stores:
    """The engine and the naive model, as far as they have lived."""

    log: History
    models: Models

    @classmethod
    def begin(cls) -> Self:
        """Both before anything has happened."""
        naive = NaiveFleet(salt=FLEET)
        approvals = NaiveApprovals(naive)
        disks = NaiveDisks(naive)
        proposals = NaiveProposals(naive, disks)
        approvals.carry_out = proposals.carried_out
        return cls(History(), Models(naive, disks, proposals))

    def copied(self) -> Self:
        """Both once more, so that two things can happen next."""
        log = History(world=self.log.world, events=[*self.log.events])
        return type(self)(log, pickle.loads(pickle.dumps(self.models)))

    def live(self, drawn: Fact, after: int, source: str = "test") -> str | None:
        """Let something happen to both; what they then disagree about.

        That is what was decided and ended, what is scheduled on each disk, and which proposals are open.
        """
        naive, disks = self.models.fleet, self.models.disks
        open_ = self.models.proposals.open
        fact = meant(drawn, [one.number for one in open_.values()])
        step = self.log.add(fact, source=source, after=after)
        at = self.log.events[-1].recorded_at
        naive.add(fact, subject=subject_of(fact), source=source, at=at)
        known = sorted(one.number for one in open_.values())
        hosts = step.world.disks.hosts
        kept = {
            f"{name}/{one.name}": one.scheduled
            for name in sorted(hosts)
            for one in hosts[name].disks
        }
        pairs = (
            ("decisions", [told(made) for made in step.decisions], naive.said),
            ("effect", step.effect, naive.effect),
            ("ended", sorted(map(tuple, step.ended)), sorted(naive.ended)),
            ("scheduled", kept, {key: disks.scheduled(key) for key in naive.all("disk")}),
            ("open", sorted(step.world.proposals.matters), known),
        )
        for what, engine, model in pairs:
            if engine != model:
                return f"{what}:\n  engine {engine}\n  model  {model}"
        return None

    def came_to(self) -> Iterator[str]:
        """What the last event came to, in a word or two each."""
        return (f"{said.kind} {said.reason}".strip() for said in self.models.fleet.said)


def meant(fact: Fact, open_: Iterable[int]) -> Fact:
    """An approval of one that is open, for nearly all that were drawn."""
    numbers = sorted(open_)
    if isinstance(fact, ProposalApproved) and numbers and fact.proposal < 9:
        return approved(numbers[fact.proposal % len(numbers)])
    return fact


def difference(happenings: Sequence[Happening], reached: Counter[str] | None = None) -> str | None:
    """What the two first disagree about; None where they never do.

    ``reached`` counts what the history came to.
    """
    both = Stores.begin()
    for place, (fact, source, after) in enumerate(happenings):
        found = both.live(fact, after, source)
        if found is not None:
            return f"event {place}, {found}"
        if reached is not None:
            _count(both.log.steps[-1].decisions, reached)
    return None


def _count(decisions: Sequence[Decision], reached: Counter[str]) -> None:
    for made in decisions:
        match made.outcome:
            case DiskPlacement() as placement:
                reached[f"decided {made.branch}"] += 1
                reached.update(f"rung {step.rung}, {step.rule}" for step in placement.steps)
                reached.update(f"placed {step.why}" for step in placement.steps)
                reached.update(f"released {gone.why}" for gone in placement.released)
                reached["grown"] += placement.size > placement.previous_size
            case Refusal() as refusal:
                reached[f"refused {refusal.reason}"] += 1
            case _:
                pass


def least_difference(happenings: Sequence[Happening]) -> str:
    """The least part of a history in which the two differ, and what they then disagree about."""
    least = smallest(happenings, lambda part: difference(part) is not None)
    lines = [
        f"  {place} {source} +{after} {fact}" for place, (fact, source, after) in enumerate(least)
    ]
    return "\n".join(["the least of it:", *lines, str(difference(least))])


def main() -> int:
    """Compare many histories; 1 if any differs."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--histories", type=int, default=2000)
    parser.add_argument("--events", type=int, default=220)
    parser.add_argument("--stop-after", type=int, default=1, help="so many that differ")
    asked = parser.parse_args()
    began = time.monotonic()
    differ, reached = 0, Counter[str]()
    for seed in range(asked.seed, asked.seed + asked.histories):
        whole = history(seed, asked.events)
        if difference(whole, reached) is None:
            continue
        differ += 1
        sys.stdout.write(f"seed {seed}, {least_difference(whole)}\n")
        sys.stdout.flush()
        if differ == asked.stop_after:
            break
    spent = round(time.monotonic() - began)
    for what, count in sorted(reached.items()):
        sys.stdout.write(f"  {count:8} {what}\n")
    sys.stdout.write(f"seeds {asked.seed} to {seed}: {differ} differ, {spent} s\n")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
