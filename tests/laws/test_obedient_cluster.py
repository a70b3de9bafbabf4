"""Laws of pods: where a cluster does what was decided, its pods never contradict the book.

Whichever of its pods it ends, and whatever happens meanwhile.
"""

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from ledger.reducers.book import NOTHING_HELD
from ledger.reducers.conservation import differences
from ledger.units import Subject
from tests.laws.obedient_cluster import NODES, ObedientCluster


@given(seed=st.integers(0, 2**32 - 1), steps=st.integers(1, 60))
def test_pods_of_an_obedient_cluster_never_contradict_the_book(seed: int, steps: int) -> None:
    cluster = ObedientCluster(Random(seed))
    cluster.begin()
    cluster.live(steps)
    cluster.settle()

    log = cluster.log
    incidents = [made for step in log.steps for made in step.decisions if made.kind == "incident"]
    assert incidents == []
    seen = Counter((pod.owner, pod.node) for pod in cluster.pods.values())
    wanted = {
        (name, node): count
        for name, held in cluster.wanted().items()
        for node, count in held.items()
    }
    assert seen == wanted, "everything that was decided is done, and nothing else"
    for node in NODES:
        held = log.world.book.get(Subject(f"m1/{node}"), NOTHING_HELD)
        assert held.memory == sum(pod.node == node for pod in cluster.pods.values())
    assert not log.world.pods.given_up
    assert not log.world.pods.missing
    assert differences(log.world) == ()
