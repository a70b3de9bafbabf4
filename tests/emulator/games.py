"""Whole lives of one workload in the emulator, drawn from a seed, and how far off its split is in the end."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.emulator.doors import Counting, Engine
from tests.emulator.kube import Cluster, Door, Weather


@dataclass(frozen=True, slots=True)
class Game:
    """So many replicas of which so many belong on on-demand nodes."""

    seed: int
    replicas: int
    wanted: int
    kills: int
    """Rounds of them."""

    @property
    def due(self) -> int:
        return 1 if self.replicas <= 1 else min(self.wanted, self.replicas)


def drawn(seed: int, *, most: int = 40, kills: int = 5) -> Game:
    """A game by its number."""
    luck = Random(seed)
    replicas = luck.randint(1, most)
    return Game(seed, replicas, luck.randint(0, replicas), kills)


def grown(game: Game, door: Door, weather: Weather) -> Cluster:
    """The workload grows to its size in steps, while pods are refused and die, and comes to rest."""
    luck = Random(game.seed + 1)
    cluster = Cluster(luck, door, weather)
    cluster.scale(game.replicas, str(game.wanted))
    replicaset = cluster.told_replicas("7", game.replicas)
    for _ in range(game.kills + 1):
        for _ in range(luck.randint(1, 4)):
            cluster.sync(replicaset)
            cluster.advance()
        for pod in cluster.of(replicaset.name):
            if luck.random() < 0.7:
                cluster.run(pod)
        if game.kills:
            pods = cluster.of(replicaset.name)
            for pod in luck.sample(pods, luck.randint(0, len(pods) // 2)):
                cluster.kill(pod)
                cluster.advance()
    cluster.settle()
    return cluster


def error(game: Game, cluster: Cluster) -> int:
    """How many on-demand pods too many, or too few, there are at rest."""
    pods = list(cluster.pods.values())
    assert len(pods) == game.replicas, "a workload at rest has its replicas"
    return sum(pod.patched.capacity == "od" for pod in pods) - game.due


def miscounted(game: Game, cluster: Cluster) -> int:
    """The same of those that are worth keeping: whoever was lowered goes like any other."""
    return sum(pod.counts for pod in cluster.pods.values()) - game.due


def engine_error(game: Game, weather: Weather, *, reader: bool) -> int:
    """With the ledger at the door."""
    return error(game, grown(game, Engine(reader=reader), weather))


def counting_error(game: Game, weather: Weather) -> int:
    """With whoever counts there."""
    return error(game, grown(game, Counting(game.due), weather))


def errors(
    seeds: range, weather: Weather, play: Callable[[Game, Weather], int], *, kills: int = 5
) -> dict[int, int]:
    """How often the split was off by how much."""
    found: dict[int, int] = {}
    for seed in seeds:
        off = play(drawn(seed, kills=kills), weather)
        found[off] = found.get(off, 0) + 1
    return found


def repaired(cluster: Cluster, engine: Engine) -> None:
    """Whatever is proposed is approved and carried out, until nothing is."""
    engine.rest(cluster)
    while (evicted := engine.approve(cluster)) is not None:
        for name in evicted:
            cluster.kill(cluster.pods[name])
        cluster.settle()
        for pod in list(cluster.pods.values()):
            cluster.run(pod, at_once=True)
        cluster.deliver()
        engine.rest(cluster)
