"""What was used before counts as somebody says who reads a diary of everything.

Histories are about namespaces that want the same few cores, in tasks of one size or two, so that whoever is
next gets something; and the policy remembers, most of the time.
"""

from fractions import Fraction
from random import Random

import pytest

from ledger.core.fairshare import decay
from ledger.decisions.contest import read
from ledger.facts.allocation import Allocation
from ledger.facts.event import Fact
from ledger.facts.policy import History as Past
from ledger.facts.policy import PolicyValue
from ledger.reducers import past_use
from tests.histories import (
    FLEET,
    History,
    cluster_up,
    each_takes,
    node_gone,
    node_up,
    policy,
    subject_of,
    workload_gone,
)
from tests.laws.job_histories import job_finished, job_up, queue_gone, queue_up, quota_up
from tests.laws.naive_fleet import NaiveFleet
from tests.laws.naive_incidents import NaiveIncidents
from tests.laws.naive_jobs import NaiveJobs
from tests.laws.test_naive_jobs import told

QUEUES = ["qa", "qa", "qb"]
JOBS = [f"ns{space}/{job}" for space in (1, 2, 3) for job in "abc"]


class Teller:
    """Tells what happens next."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.lives = 0

    def beginning(self) -> list[Fact]:
        rounds = {"round.max_events": 3, "round.max_milliseconds": 1000}
        return [
            policy({**rounds, **self.past()}),
            cluster_up("c1"),
            node_up("c1", "n1", cpu=6000, memory=6),
            queue_up("qa"),
            queue_up("qb"),
        ]

    def past(self) -> dict[str, PolicyValue]:
        random = self.random
        if random.random() < 0.15:
            return {"fairshare.history": random.choice([None, None, True])}
        told: dict[str, PolicyValue] = {
            "bucket_ms": random.choice([700, 3000, 3000]),
            "decay": random.choice(
                [Fraction(1, 2), Fraction(9, 10), Fraction(9, 10), Fraction(1), Fraction(1, 2**40)]
            ),
            "past_weight": random.choice(
                [Fraction(1), Fraction(5, 2), Fraction(1, 3), Fraction(0)]
            ),
            "entry_penalty": random.random() < 0.7,
        }
        if random.random() < 0.5:
            told = {name: random.choice([value, value, None]) for name, value in told.items()}
            told = {name: told[name] for name in random.sample(sorted(told), random.randint(1, 3))}
        return {f"fairshare.history.{name}": value for name, value in told.items()}

    def next(self) -> Fact:
        random = self.random
        key, queue = random.choice(JOBS), random.choice(QUEUES)
        chance = random.random()
        if chance < 0.5:
            self.lives += random.random() < 0.6
            return job_up(
                key,
                random.choice([0, 1, 2, 4]),
                queue,
                request=random.choice([each_takes(cpu=1000), each_takes(cpu=500, memory=1)]),
                gang_min=random.choice([1, 1, 1, 2]),
                uid=f"life{self.lives}",
            )
        if chance < 0.8:
            return job_finished(key, random.choice([None, 0, 1]))
        if chance < 0.85:
            return workload_gone(key)
        if chance < 0.93:
            return policy(self.past())
        others: list[Fact] = [
            policy({"fairshare.scope": random.choice(["global", None])}),
            quota_up(key.split("/")[0], "x", random.choice([1, 2, 3])),
            queue_gone("qb", None, None),
            queue_up("qb", weight=random.choice([1, 2])),
            node_up("c1", "n1", cpu=random.choice([4000, 6000]), memory=6),
            node_gone("c1", "n2"),
            node_up("c1", "n2", cpu=2000, memory=2),
        ]
        return random.choice(others)

    def pause(self) -> int:
        return self.random.choice([0, 0, 10**5, 10**6, 2_345_678, 10**7])


def lived(seed: int, length: int) -> set[str]:
    """Compare both fleets over a history; in what past use told."""
    teller = Teller(seed)
    happenings = [(fact, 0) for fact in teller.beginning()]
    happenings += [(teller.next(), teller.pause()) for _ in range(length)]
    log, naive = History(), NaiveFleet(salt=FLEET)
    jobs = NaiveJobs(naive)
    NaiveIncidents(naive)
    seen: set[str] = set()
    for fact, after in happenings:
        step = log.add(fact, after=after)
        naive.add(fact, subject=subject_of(fact), source="test", at=log.events[-1].recorded_at)

        assert [told(one) for one in step.decisions] == naive.said, fact
        assert step.effect == naive.effect
        counted = jobs.diary.charges(log.events[-1].recorded_at)
        for place, charged in read(step.world).charges.items():
            assert charged == {name: one for name, one in counted[place].items() if one}, place
        if step.world.policy.fairshare.history is None:
            assert not step.world.jobs.past
        for one in step.decisions:
            if isinstance(one.outcome, Allocation):
                seen.update("charged" for _ in one.outcome.round.past)
    return seen


@pytest.mark.parametrize("seed", range(6))
def test_it_counts_as_a_diary_says(seed: int) -> None:
    assert "charged" in lived(seed, 120)


@pytest.mark.long
@pytest.mark.parametrize("first", range(1000, 1400, 20))
def test_it_counts_so_in_many_histories(first: int) -> None:
    for seed in range(first, first + 20):
        lived(seed, 200)


def test_the_world_counts_in_the_same_parts_as_the_core() -> None:
    assert past_use.PARTS == decay.ONE
    assert past_use.FINE == decay.FINE
    assert past_use.LARGEST_FACTOR == decay.LARGEST_FACTOR


@pytest.mark.parametrize(
    ("ratio", "factor"),
    [
        (Fraction(1, 2), 2**31),
        (Fraction(345, 346), 2**32 * 345 // 346),
        (Fraction(1), decay.LARGEST_FACTOR),
        (Fraction(1, 2**40), 1),
    ],
)
def test_a_ratio_becomes_a_factor_that_the_core_takes(ratio: Fraction, factor: int) -> None:
    assert past_use.factor_of(Past(decay=ratio)) == factor


def test_what_has_faded_is_not_kept() -> None:
    log = History()
    log.add(policy({"fairshare.history.decay": Fraction(1, 2), "round.max_events": 1}))
    for fact in (cluster_up("c1"), node_up("c1", "n1", cpu=1000), queue_up("qa")):
        log.add(fact)
    log.add(job_up("ns1/a", 1))
    log.add(job_finished("ns1/a", None), after=90 * 10**6)
    assert [*log.world.jobs.past]

    log.add(job_up("ns2/a", 1), after=10**12)

    assert [key.namespace for key in log.world.jobs.past] == ["ns2"]
