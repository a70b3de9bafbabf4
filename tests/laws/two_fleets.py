"""The engine and the naive fleet live through the same crowded history, and where they first differ.

    python -m tests.laws.two_fleets --seed 1 --histories 2000 --events 220

Each history is a seed (``tests.laws.crowded_histories``); with ``--jobs`` there are jobs in it that
want the same room, with ``--sets`` StatefulSets whose lowest numbers are often refused, and with ``--pods``
it is one of pods that others place (``split_histories``). Of one in which the two differ the smallest part is told in which they still do.
"""

import argparse
import pickle
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from ledger.decisions.step import Step
from ledger.facts.admission import Admission
from ledger.facts.allocation import Allocation
from ledger.facts.capacity_class import CapacityClass
from ledger.facts.cluster import NodeUpserted
from ledger.facts.control import ProposalApproved
from ledger.facts.decision import Decision
from ledger.facts.deployment import Deployment
from ledger.facts.division import Division
from ledger.facts.event import Fact
from ledger.facts.eviction import Eviction
from ledger.facts.incident import Incident
from ledger.facts.proposal import Proposal
from ledger.facts.refusal import Refusal
from ledger.facts.repair import Repair
from ledger.reducers.incidents import Contradiction
from ledger.reducers.rooms import free
from ledger.reducers.world import World
from tests.histories import FLEET, History, allocation, approved, subject_of
from tests.laws import split_histories
from tests.laws.crowded_histories import Happening, history, smallest, with_jobs, with_sets
from tests.laws.naive_admissions import NaiveAdmissions
from tests.laws.naive_approvals import NaiveApprovals
from tests.laws.naive_book import Bound
from tests.laws.naive_deployments import NaiveDeployments, Standing, told
from tests.laws.naive_fleet import NaiveFleet
from tests.laws.naive_incidents import NaiveIncidents
from tests.laws.naive_jobs import NaiveJobs
from tests.laws.naive_part import Said, heading
from tests.laws.naive_repairs import NaiveRepairs


@dataclass(slots=True)
class Models:
    """The naive fleet, and those of its parts that are asked by name."""

    fleet: NaiveFleet
    admissions: NaiveAdmissions
    deployments: NaiveDeployments
    repairs: NaiveRepairs


@dataclass(slots=True)
class Fleets:
    """The engine and the naive fleet, as far as they have lived."""

    log: History
    models: Models

    @classmethod
    def begin(cls) -> Self:
        """Both before anything has happened."""
        naive = NaiveFleet(salt=FLEET)
        admissions = NaiveAdmissions(naive)
        approvals = NaiveApprovals(naive)
        deployments = NaiveDeployments(naive)
        jobs = NaiveJobs(naive)
        jobs.unblocked, jobs.closing = deployments.unblocked, deployments.closing
        repairs = NaiveRepairs(naive, deployments, admissions)
        approvals.carry_out = repairs.carried_out
        NaiveIncidents(naive, admissions)
        return cls(History(), Models(naive, admissions, deployments, repairs))

    def copied(self) -> Self:
        """Both once more, so that two things can happen next."""
        log = History(world=self.log.world, events=[*self.log.events])
        return type(self)(log, pickle.loads(pickle.dumps(self.models)))

    def live(self, drawn: Fact, after: int) -> str | None:
        """Let something happen to both; what they then disagree about."""
        naive, world = self.models.fleet, self.log.world
        fact = self.models.admissions.meant(drawn)
        fact = meant(fact, self.models.repairs.evicting(), world.proposals.matters)
        step = self.log.add(fact, after=after)
        divided = naive.add(
            fact, subject=subject_of(fact), source="test", at=self.log.events[-1].recorded_at
        )
        pairs = (
            ("divisions", _divisions(step), [[one.subject, one.answer] for one in divided]),
            ("decisions", _decisions(step), naive.said),
            ("effect", step.effect, naive.effect),
            ("ended", sorted(map(tuple, step.ended)), sorted(naive.ended)),
            ("in force", _in_force(step.world), _held(self.models.deployments)),
            ("free", _free(step.world), _counted(naive)),
        )
        for what, engine, model in pairs:
            if engine != model:
                return f"{what}:\n  engine {engine}\n  model  {model}"
        return None

    def came_to(self) -> Iterator[str]:
        """What the last event came to, in a word or two each."""
        return (f"{said.kind} {said.reason}".strip() for said in self.models.fleet.said)


def difference(happenings: Sequence[Happening], reached: Counter[str] | None = None) -> str | None:
    """What the two first disagree about; None where they never do.

    ``reached`` counts what the history came to.
    """
    both = Fleets.begin()
    for place, (fact, after) in enumerate(happenings):
        found = both.live(fact, after)
        if found is not None:
            return f"event {place}, {found}"
        if reached is not None:
            reached.update(both.came_to())
    return None


def meant(fact: Fact, evicting: Sequence[int], open_: Collection[int]) -> Fact:
    """An approval of evictions that are proposed, if any are; else of nothing that is open."""
    if not isinstance(fact, ProposalApproved):
        return fact
    if evicting and fact.proposal < 9:
        return approved(evicting[fact.proposal % len(evicting)])
    return approved(max([fact.proposal, *open_]) + 1)


def _free(world: World) -> dict[str, dict[str, int]]:
    """What every node has free, and that it is below zero only where that is known to be so."""
    found = {}
    for (noun, key), known in sorted(world.objects.known.items()):
        if noun != "node" or not isinstance(known.fact, NodeUpserted):
            continue
        offer = free(world, known.fact)
        cores = offer.cores or [(str(core), offer.share_base) for core in range(offer.whole)]
        found[str(key)] = {
            "cpu": offer.cpu,
            "memory": offer.memory,
            "storage": offer.storage,
            **({} if offer.pods is None else {"pods": offer.pods}),
            **{f"core {core}": pieces for core, pieces in cores},
            **{f"group {group}": left for group, left in offer.numa_memory},
            **{f"device {device}": left for device, left in offer.volumes},
        }
        one = Contradiction(key, "over_committed", key)
        known_short = one in world.incidents.told or one in world.incidents.untold
        assert known_short or min(found[str(key)].values()) >= 0, (
            f"{key} is short, and nobody knows"
        )
    return found


def _counted(naive: NaiveFleet) -> dict[str, dict[str, int]]:
    """The same, counted anew; without what a node does not declare any more."""
    counted = {}
    for key, node in sorted(naive.all("node").items()):
        left = naive.book.free(key)
        declared = {"cpu", "memory", "storage", "pods"}
        declared |= {f"core {core}" for core, _ in node.cores}
        declared |= {f"core {core}" for core in range((node.cpu or 0) // 1000)}
        declared |= {f"group {group}" for group, _ in node.numa_memory}
        declared |= {f"device {device}" for device, _ in node.volumes}
        counted[key] = {name: one for name, one in left.amounts().items() if name in declared}
    return counted


def least_difference(happenings: Sequence[Happening]) -> str:
    """The least part of a history in which the two differ, and what they then disagree about."""
    least = smallest(happenings, lambda part: difference(part) is not None)
    told = [f"  {place} +{after} {fact}" for place, (fact, after) in enumerate(least)]
    return "\n".join(["the least of it:", *told, str(difference(least))])


def _divisions(step: Step) -> list[list[object]]:
    found: list[list[object]] = []
    for made in step.decisions:
        outcome = made.outcome
        if isinstance(outcome, Division):
            found.append([made.subject, allocation(made)])
        elif isinstance(outcome, Refusal) and outcome.wanted == "division":
            found.append([made.subject, outcome.reason])
    return found


def _decisions(step: Step) -> list[Said]:
    """All but divisions, as the model tells them."""
    return [_said(made) for made in step.decisions if _is_not_divided(made)]


def _is_not_divided(made: Decision) -> bool:
    outcome = made.outcome
    return not (
        isinstance(outcome, Division)
        or (isinstance(outcome, Refusal) and outcome.wanted == "division")
    )


def _said(made: Decision) -> Said:
    said = heading(made)
    match made.outcome:
        case Deployment() as deployment:
            said.rows = {
                str(one.number): told(
                    f"{deployment.cluster}/{one.node}",
                    Bound(
                        one.group,
                        dict(one.cores),
                        {text: (device, size) for text, device, size in one.volumes},
                    ),
                )
                for one in deployment.instances
            }
        case (Allocation() | Eviction()) as of_tasks:
            said.rows = {str(one.task): f"{one.cluster}/{one.node}" for one in of_tasks.tasks}
        case CapacityClass() as decided:
            said.rows = {"target": str(decided.target), **dict.fromkeys(decided.flags, "")}
        case Refusal() as refusal:
            said.reason, said.waits_for = refusal.reason, refusal.waits_for
        case Proposal() as proposal:
            said.rows = {move.thing: f"{move.out} -> {move.into}" for move in proposal.moves}
            said.reason = proposal.what
        case Admission() as admission:
            # By what it says it is told apart from targets; what came before it is not compared.
            said.kind, said.previous = "admission", None
            said.rows = {
                "class": str(admission.capacity_class),
                "name": str(admission.reservation),
                "flags": str([*admission.flags]),
                "retired": str([*admission.retired]),
                "lost": str([*admission.assumed_lost]),
            }
        case Repair() as repair:
            said.rows = {one.pod: one.node for one in (*repair.evict, *repair.lower)}
            said.released = [one.pod for one in repair.lower]
        case Incident() as incident:
            numbers = " ".join(f"{name}:{number}" for name, number in incident.numbers)
            said.rows, said.reason = {incident.node: numbers}, incident.what
        case _:
            pass
    return said


def _in_force(world: World) -> dict[str, object]:
    """What each subject holds, which numbers wait, whether an order is open."""
    return {
        str(subject): (
            {
                one.number: (f"{deployed.cluster}/{one.node}", one.terms.request)
                for one in deployed.instances
            },
            {one.number for one in deployed.waiting},
            deployed.ordered,
        )
        for subject, deployed in sorted(world.deployments.of.items())
        if deployed.instances or deployed.waiting or deployed.ordered
    }


def _held(deployments: NaiveDeployments) -> dict[str, object]:
    def of(standing: Standing) -> tuple[object, ...]:
        held = {number: (one.node, one.request) for number, one in standing.held.items()}
        return held, standing.lost, standing.ordered

    return {
        subject: of(standing)
        for subject, standing in sorted(deployments.standing.items())
        if standing.held or standing.lost or standing.ordered
    }


def main() -> int:
    """Compare many histories; 1 if any differs."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--histories", type=int, default=2000)
    parser.add_argument("--events", type=int, default=220)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--jobs", action="store_true", help="beside the others")
    which.add_argument("--sets", action="store_true", help="that lack their lowest numbers")
    which.add_argument("--pods", action="store_true", help="that others place")
    parser.add_argument("--stop-after", type=int, default=1, help="so many that differ")
    asked = parser.parse_args()
    tells = history
    for chosen, other in (
        (asked.jobs, with_jobs),
        (asked.sets, with_sets),
        (asked.pods, split_histories.history),
    ):
        tells = other if chosen else tells
    began = time.monotonic()
    differ, reached = 0, Counter[str]()
    for seed in range(asked.seed, asked.seed + asked.histories):
        whole = tells(seed, asked.events)
        if difference(whole, reached) is None:
            continue
        differ += 1
        sys.stdout.write(f"seed {seed}, {least_difference(whole)}\n")
        if differ == asked.stop_after:
            break
    spent = round(time.monotonic() - began)
    for what, count in sorted(reached.items()):
        sys.stdout.write(f"  {count:8} {what}\n")
    sys.stdout.write(f"seeds {asked.seed} to {seed}: {differ} differ, {spent} s\n")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
