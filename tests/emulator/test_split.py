"""Where the ledger is asked about each pod, its split is exact; and where it cannot be, it finds out and says so.

The games are a seed each (``games``). Each of these runs looks at some dozens of them, the long form
(``python -m tests.emulator.long_run``) at tens of thousands.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from random import Random

import pytest

from ledger.facts.admission import Admission
from ledger.facts.decision import record
from ledger.facts.repair import Repair
from ledger.reducers import snapshot
from tests.emulator.doors import Engine
from tests.emulator.games import (
    Game,
    autoscaled,
    counting_error,
    drawn,
    engine_error,
    error,
    errors,
    founded_error,
    grown,
    miscounted,
    repaired,
    resized_and_mended,
    resized_error,
    rolled,
    rolled_error,
)
from tests.emulator.kube import Cluster, Weather
from tests.histories import approved

CALM = Weather(duplicates=10, reinvocations=10, dry_runs=5)
ROUGH = Weather(rejects=30, duplicates=10, reinvocations=10, dry_runs=5)
LATE = Weather(rejects=30, duplicates=10, reinvocations=10, dry_runs=5, lag=50)
with_reader = partial(engine_error, reader=True)
without = partial(engine_error, reader=False)


def root_of(engine: Engine) -> str:
    """Of everything that was answered, and of the World that it led to."""
    whole = sha256()
    for step in engine.history.steps:
        for made in step.decisions:
            whole.update(record(made))
    return f"{whole.hexdigest()} {snapshot.digest(engine.history.world)}"


def test_whoever_may_list_the_pods_splits_them_exactly_whatever_is_refused_dies_or_comes_late() -> (
    None
):
    assert errors(range(40), LATE, with_reader) == {0: 40}


@pytest.mark.parametrize(
    "play", [with_reader, resized_error, resized_and_mended, rolled_error, founded_error]
)
@pytest.mark.parametrize("rejects", [0, 30])
def test_so_does_whoever_hears_late_of_workloads_and_replicasets_too(
    play: Callable[[Game, Weather], int], rejects: int
) -> None:
    weather = Weather(rejects=rejects, duplicates=10, reinvocations=10, lag=50, owners_lag=True)
    assert errors(range(30), weather, play) == {0: 30}


@pytest.mark.parametrize("patience", [0, 60])
def test_a_workload_that_nobody_told_of_is_waited_for_and_then_read(patience: int) -> None:
    weather = Weather(rejects=30, lag=50, owners_lag=True, patience=patience)
    read = 0
    for seed in range(15):
        engine = Engine(reader=True)
        game = drawn(seed)
        assert error(game, grown(game, engine, weather)) == 0
        flags = [
            made.outcome.flags
            for step in engine.history.steps
            for made in step.decisions
            if isinstance(made.outcome, Admission)
        ]
        assert not any("workload_unknown" in told for told in flags)
        read += sum("workload_read" in told for told in flags)
    assert (read > 0) == (patience == 0)


def test_without_a_list_a_workload_is_waited_for_as_long_as_its_first_pods_can_be() -> None:
    weather = Weather(duplicates=10, lag=50, owners_lag=True)
    assert errors(range(30), weather, without, kills=0) == {0: 30}


def test_whoever_sees_everything_at_once_needs_no_list() -> None:
    assert errors(range(40), ROUGH, without) == {0: 40}


@pytest.mark.parametrize("reader", [True, False])
def test_growing_in_calm_weather_is_exact_however_late_the_watch_is_and_nothing_is_listed(
    *,
    reader: bool,
) -> None:
    for seed in range(20):
        game = drawn(seed, kills=0)
        engine = Engine(reader=reader)
        weather = Weather(duplicates=10, reinvocations=10, dry_runs=5, lag=50)
        assert error(game, grown(game, engine, weather)) == 0
        assert engine.lists == 0


def test_whoever_counts_the_pods_that_he_sees_is_right_in_less_than_half_of_these_games() -> None:
    off = errors(range(60), Weather(lag=50), counting_error, kills=0)

    assert off.get(0, 0) < 30
    assert max(off) > 3, "and more than a little wrong in some"


def test_without_a_list_whatever_is_short_or_too_much_is_mended_once_the_watch_has_caught_up() -> (
    None
):
    short, many = 0, 0
    weather = Weather(rejects=30, bypasses=10, lag=50)
    for seed in range(40):
        game = drawn(seed)
        engine = Engine(reader=False)
        cluster = grown(game, engine, weather)
        short += error(game, cluster) < 0

        repaired(cluster, engine)

        assert miscounted(game, cluster) == 0
        many += error(game, cluster) > 0
    assert short > 5, "there was something to be mended"
    assert many > 5, "of both kinds"


def test_what_was_too_much_goes_like_any_other_and_what_counts_goes_last() -> None:
    lowered = 0
    for seed in range(15):
        luck = Random(seed)
        game = Game(seed, luck.randint(8, 20), luck.randint(4, 7), kills=0)
        engine = Engine(reader=True)
        cluster = grown(game, engine, Weather(lag=5))
        for pod in list(cluster.pods.values()):
            cluster.run(pod, at_once=True)
        cluster.deliver()

        cluster.scale(game.replicas, "2")
        repaired(cluster, engine)
        lowered += sum(pod.lowered for pod in cluster.pods.values())
        assert sum(pod.counts for pod in cluster.pods.values()) == 2
        cluster.scale(4, "2")
        cluster.told_replicas("7", 4)
        cluster.settle()

        assert sum(pod.counts for pod in cluster.pods.values()) == 2
    assert lowered > 15


@pytest.mark.parametrize("reader", [True, False])
def test_a_workload_that_grows_and_shrinks_with_its_load_keeps_its_share(*, reader: bool) -> None:
    sizes = set()
    for seed in range(12):
        engine = Engine(reader=reader)
        for cluster, due in autoscaled(seed, engine, CALM, looks=25):
            assert sum(pod.counts for pod in cluster.pods.values()) >= due
            repaired(cluster, engine)
            assert sum(pod.counts for pod in cluster.pods.values()) == due
            sizes.add(cluster.replicas)
    assert len(sizes) > 15, "it grew and shrank"


@pytest.mark.parametrize("reader", [True, False])
def test_where_its_size_is_told_late_its_share_is_mended_once_it_was(*, reader: bool) -> None:
    weather = Weather(rejects=10, duplicates=10, lag=50, owners_lag=True)
    off = 0
    for seed in range(8):
        engine = Engine(reader=reader)
        for cluster, due in autoscaled(seed, engine, weather, looks=15):
            too_many = sum(pod.counts for pod in cluster.pods.values()) - due
            assert not reader or too_many >= 0, "what it wants is read for each of its pods"
            off += too_many != 0
            repaired(cluster, engine)
            assert sum(pod.counts for pod in cluster.pods.values()) == due
    assert off > 3, "there was something to be mended"


def test_a_rollout_never_has_fewer_on_demand_than_belong_there_of_either_template() -> None:
    for seed in range(15):
        game = drawn(seed, most=12)
        cluster, short = rolled(game, Engine(reader=False), CALM)
        assert (error(game, cluster), short) == (0, 0)


def test_scaling_down_among_pods_that_are_ready_takes_the_spot_pods_first() -> None:
    for seed in range(15):
        luck = Random(seed)
        game = Game(seed, luck.randint(4, 20), 2, kills=0)
        engine = Engine(reader=True)
        cluster = grown(game, engine, Weather(lag=5))
        replicaset = cluster.replicasets["web-7"]
        for pod in list(cluster.pods.values()):
            cluster.run(pod, at_once=True)
        cluster.deliver()

        for _ in range(6):
            cluster.scale(luck.randint(2, 20), "2")
            cluster.told_replicas("7", cluster.replicas)
            cluster.sync(replicaset)
            for pod in cluster.of(replicaset.name):
                cluster.run(pod, at_once=True)
            cluster.deliver()
            on_demand = sum(pod.patched.capacity == "od" for pod in cluster.of(replicaset.name))
            assert on_demand == 2


def test_scaling_down_that_takes_on_demand_pods_which_are_not_ready_is_mended() -> None:
    short = 0
    for seed in range(30):
        luck = Random(seed)
        game = Game(seed, luck.randint(6, 20), 4, kills=0)
        engine = Engine(reader=True)
        cluster = grown(game, engine, Weather(unready=40))
        smaller = Game(seed, 5, 4, kills=0)

        cluster.scale(5, "4")
        cluster.told_replicas("7", 5)
        cluster.settle()
        short += error(smaller, cluster) < 0
        for pod in list(cluster.pods.values()):
            cluster.run(pod, at_once=True)
        repaired(cluster, engine)

        assert error(smaller, cluster) == 0
    assert short > 3, "there was something to be mended"


@pytest.mark.parametrize("parallel", [True, False])
def test_the_pods_of_a_statefulset_are_split_by_their_place_whoever_comes_first(
    *,
    parallel: bool,
) -> None:
    for seed in range(20):
        luck = Random(seed)
        cluster = Cluster(luck, Engine(reader=False), LATE, kind="StatefulSet", workload="db")
        for _ in range(4):
            count = luck.randint(2, 9)
            cluster.scale(count, str(luck.randint(0, count)))
            while not cluster.sync_set(parallel=parallel):
                cluster.advance()
            for pod in luck.sample(sorted(cluster.pods.values(), key=lambda pod: pod.name), 1):
                cluster.kill(pod)
        count = luck.randint(2, 9)
        cluster.scale(count, "1")
        for pod in list(cluster.pods.values()):
            cluster.kill(pod)
        while not cluster.sync_set(parallel=parallel):
            cluster.advance()

        on_demand = {name for name, pod in cluster.pods.items() if pod.patched.capacity == "od"}
        assert on_demand == {f"db-{ordinal}" for ordinal in range(count // 2 + 1)}


def test_the_same_game_is_answered_with_the_same_bytes() -> None:
    def played() -> list[bytes]:
        engine = Engine(reader=True)
        grown(drawn(7), engine, LATE)
        return [record(made) for step in engine.history.steps for made in step.decisions]

    assert played() == played()


def test_what_is_answered_does_not_depend_on_the_seed_of_hashes() -> None:
    def root(seed: str) -> bytes:
        program = (
            "from tests.emulator.doors import Engine\n"
            "from tests.emulator.games import drawn, grown\n"
            "from tests.emulator.test_split import LATE, root_of\n"
            "engine = Engine(reader=True)\n"
            "grown(drawn(11), engine, LATE)\n"
            "print(root_of(engine))\n"
        )
        surroundings = {**os.environ, "PYTHONHASHSEED": seed}
        return subprocess.check_output([sys.executable, "-c", program], env=surroundings)

    engine = Engine(reader=True)
    grown(drawn(11), engine, LATE)

    expected = f"{root_of(engine)}\n".encode()
    assert {root("0"), root("1"), root("4242")} == {expected}


def test_what_is_to_be_evicted_is_named_by_a_decision() -> None:
    engine = Engine(reader=False)
    game = Game(3, 6, 3, kills=0)
    cluster = grown(game, engine, Weather(bypasses=60))
    (number,) = engine.history.world.proposals.matters

    (made,) = engine.history.add(approved(number)).decisions

    assert isinstance(made.outcome, Repair)
    assert {one.pod for one in made.outcome.evict} <= cluster.pods.keys()
