"""Whole lives of one workload in the emulator, drawn from a seed, and how far off its split is in the end."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random

from tests.emulator.doors import Counting, Engine
from tests.emulator.kube import Autoscaler, Cluster, Door, Weather


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


def resized(game: Game, door: Door, weather: Weather, *, calmly: bool) -> Cluster:
    """The workload gets more pods and fewer, never fewer than belong on on-demand nodes.

    ``calmly``, it gets fewer only once it has its pods and all of them are ready: whom Kubernetes takes of
    others nobody has a say in, and of pods that were still to come nobody knows what they would have made up for.
    """
    luck = Random(game.seed + 2)
    cluster = Cluster(luck, door, weather)
    least = max(2, game.wanted)
    most = max(least, min(40, 2 * game.replicas))
    sizes = [luck.randint(least, most) for _ in range(luck.randint(2, 5))]
    for size in [*sizes, game.replicas]:
        if calmly and size < cluster.replicas:
            _made_ready(cluster)
        cluster.scale(size, str(game.wanted))
        replicaset = cluster.told_replicas("7", size)
        for _ in range(luck.randint(1, 4)):
            cluster.sync(replicaset)
            cluster.advance()
        pods = cluster.of(replicaset.name)
        for pod in luck.sample(pods, min(len(pods), luck.randint(0, 2))):
            cluster.kill(pod)
            cluster.advance()
    cluster.settle()
    return cluster


def rolled(game: Game, door: Door, weather: Weather) -> tuple[Cluster, int]:
    """Two rollouts one after the other; how often a template had too few on-demand pods meanwhile."""
    luck = Random(game.seed + 3)
    cluster = grown(game, door, weather)
    _made_ready(cluster)
    short = 0
    for template in ("8", "9"):
        for _ in cluster.roll(template, surge=luck.randint(1, 4)):
            for name in cluster.replicasets:
                pods = cluster.of(name)
                on_demand = sum(pod.patched.capacity == "od" for pod in pods)
                short += on_demand < min(game.due, len(pods))
    cluster.settle()
    return cluster, short


def autoscaled(
    seed: int, door: Door, weather: Weather, *, looks: int
) -> Iterator[tuple[Cluster, int]]:
    """A workload follows its load: at each rest, how many of its pods belong on on-demand nodes."""
    luck = Random(seed)
    percent = luck.choice([20, 30, 50])
    cluster = Cluster(luck, door, weather)
    autoscaler = Autoscaler(least=1, most=30, target=10, looks=3)
    cluster.scale(1, f"{percent}%")
    replicaset = cluster.told_replicas("7", 1)
    while not cluster.sync(replicaset):
        cluster.advance()
    load = 10
    for _ in range(looks):
        for pod in list(cluster.pods.values()):
            cluster.run(pod, at_once=True)
        pods = cluster.of(replicaset.name)
        load = max(1, load + luck.randint(-60, 70))
        replicas = autoscaler.wanted(load, cluster.replicas, sum(pod.ready for pod in pods))
        if replicas != cluster.replicas:
            cluster.scale(replicas, f"{percent}%")
            cluster.told_replicas("7", replicas)
        cluster.settle()
        yield cluster, -(-percent * replicas // 100) if replicas > 1 else 1


def _made_ready(cluster: Cluster) -> None:
    """Every ReplicaSet has what it wants, and all of that is ready; the watch may not have said so."""
    for replicaset in list(cluster.replicasets.values()):
        while not cluster.sync(replicaset):
            cluster.advance()
    for pod in list(cluster.pods.values()):
        cluster.run(pod, at_once=True)


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


def resized_error(game: Game, weather: Weather) -> int:
    """The same where it gets other sizes, and the pods can be listed."""
    game = of_several(game)
    return error(game, resized(game, Engine(reader=True), weather, calmly=True))


def resized_and_mended(game: Game, weather: Weather) -> int:
    """The same where it may get fewer at any time, once everything was heard of and mended."""
    game, engine = of_several(game), Engine(reader=True)
    cluster = resized(game, engine, weather, calmly=False)
    repaired(cluster, engine)
    return miscounted(game, cluster)


def founded(game: Game, door: Door, weather: Weather) -> Cluster:
    """A StatefulSet that nobody heard of yet gets all of its pods."""
    luck = Random(game.seed + 4)
    cluster = Cluster(luck, door, weather, kind="StatefulSet", workload="db")
    cluster.scale(game.replicas, str(game.wanted))
    while not cluster.sync_set(parallel=luck.random() < 0.5):
        cluster.advance()
    cluster.deliver()
    return cluster


def misplaced(game: Game, cluster: Cluster) -> int:
    """How many of a set's pods are not where those of their ordinal belong."""
    due = min(game.replicas, max(game.wanted, game.replicas // 2 + 1))
    on_demand = {name for name, pod in cluster.pods.items() if pod.patched.capacity == "od"}
    return len(on_demand ^ {f"{cluster.workload}-{ordinal}" for ordinal in range(due)})


def founded_error(game: Game, weather: Weather) -> int:
    """The same with the ledger at the door, which sees no list of pods."""
    return misplaced(game, founded(game, Engine(reader=False), weather))


def of_several(game: Game) -> Game:
    """One that does not end with a single pod: that one belongs on an on-demand node whatever is wanted."""
    return replace(game, replicas=max(2, game.replicas))


def rolled_error(game: Game, weather: Weather) -> int:
    """The same after rollouts; what was too little meanwhile counts as well."""
    cluster, short = rolled(game, Engine(reader=True), weather)
    return error(game, cluster) or -short


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
