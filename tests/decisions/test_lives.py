"""After a restore a log is in its next life, and no decision of that has an id of the life before."""

from ledger.decisions.step import advance
from ledger.facts.decision import Decision
from ledger.facts.own import LogRecovered
from ledger.reducers.evolve import follow
from ledger.units import Incarnation
from tests.histories import History, cluster_up, divided, only, policy, workload_up

RECOVERED = LogRecovered(Incarnation(2), (), None, "the disk was lost", "anna")


def waiting_for_a_cluster() -> History:
    """A workload over two clusters, one of which is lost and counts for one millisecond more."""
    history = History()
    history.add_all(
        policy({"grace.cluster_ms": 1}),
        cluster_up("c1"),
        cluster_up("c2"),
        workload_up("ns/web", 4, divided(weights={"c1": 1, "c2": 1})),
        cluster_up("c1", ready=False),
    )
    return history


def ids(decisions: tuple[Decision, ...]) -> list[str]:
    return [f"{one.incarnation}/{one.number}" for one in decisions]


def test_a_decision_behind_the_recovery_is_of_the_next_life() -> None:
    history = waiting_for_a_cluster()
    before = history.world.decisions
    history.add(RECOVERED)

    made = only(history.add(workload_up("ns/web", 5, divided(weights={"c1": 1, "c2": 1}))))

    assert ids((made,)) == [f"2/{before}"]
    assert history.world.incarnation == 2


def test_a_deadline_that_passes_before_the_recovery_is_decided_in_the_next_life() -> None:
    """In the life before, another event stood there, and another decision may have had the number."""
    lost, found = waiting_for_a_cluster(), waiting_for_a_cluster()

    then = lost.wait(2_000)
    now = found.add(RECOVERED, after=5_000)

    (before,), (after,) = then.decisions, now.decisions
    assert after.deadline is not None
    assert (before.number, before.position) == (after.number, after.position)
    assert ids((before, after)) == ["1/1", "2/1"]


def test_who_follows_ends_in_the_same_world_as_who_decides() -> None:
    history = waiting_for_a_cluster()
    before = history.world
    step = history.add(RECOVERED, after=5_000)

    assert follow(before, history.events[-1], step.decisions) == step.world
    assert advance(before, history.events[-1]).decisions == step.decisions
