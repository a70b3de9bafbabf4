"""What is left of a cluster that is gone: nothing that anybody could hold, wait for or propose."""

from dataclasses import replace

from ledger.facts.event import Fact
from ledger.facts.workload import PodObserved
from ledger.reducers.conservation import differences
from ledger.reducers.open_proposals import NO_PROPOSALS
from ledger.reducers.reservations import NO_ADMISSIONS
from ledger.reducers.sightings import NO_PODS
from ledger.units import Replicas
from tests.histories import (
    DAY,
    History,
    admitted,
    cluster_gone,
    cluster_up,
    deployed,
    each_takes,
    listed,
    node_up,
    pod_gone,
    pod_seen,
    policy,
    replicaset_up,
    workload_gone,
    workload_up,
)

ABOVE = ("ReplicaSet", "web-7")
SPOT = {"node.kubernetes.io/capacity": "spot"}


def seen(cluster: str, name: str) -> PodObserved:
    return pod_seen(cluster, "shop", f"web-7-{name}", owner=ABOVE, template_hash="7", node="n1")


def of_a_cluster(cluster: str) -> list[Fact]:
    """All that may hang on pods: room, rows, proposals, reservations, pods that were given up."""
    db = workload_up(
        f"shop/db-{cluster}",
        2,
        kind="StatefulSet",
        cluster=cluster,
        deploy=deployed(),
        request=each_takes(memory=1),
    )
    owner = ("StatefulSet", f"db-{cluster}")
    return [
        cluster_up(cluster),
        node_up(cluster, "n1", memory=8, labels=SPOT),
        replicaset_up(cluster, "shop", "web-7", ("Deployment", "web"), replicas=2),
        admitted(f"{cluster}-u0", cluster, "shop", ABOVE, "7"),
        replace(seen(cluster, "a"), reservation="shop/1/0"),
        seen(cluster, "b"),
        admitted(f"{cluster}-u1", cluster, "shop", ABOVE, "7"),
        pod_seen(cluster, "kube", "agent", node="n1", request=each_takes(memory=1)),
        pod_seen(cluster, "kube", "early", node="n2", request=each_takes(memory=1)),
        db,
        *(
            pod_seen(cluster, "shop", f"db-{cluster}-{number}", owner=owner, node="n1")
            for number in range(3)
        ),
        replace(db, replicas=Replicas(1)),
        workload_gone(f"shop/db-{cluster}"),
    ]


def test_nothing_of_its_pods_is_left() -> None:
    log = History()
    log.add_all(workload_up("shop/web", 2, min_available="1"), *of_a_cluster("m1"))
    assert log.world.pods.given_up
    assert log.world.admissions.reservations

    log.add(cluster_gone("m1"))

    left = log.world
    assert left.pods == NO_PODS
    assert left.admissions.templates == NO_ADMISSIONS.templates
    assert left.admissions.reservations == NO_ADMISSIONS.reservations
    assert left.admissions.within == NO_ADMISSIONS.within
    assert left.proposals.open == NO_PROPOSALS.open
    assert not left.objects.members
    assert not left.book
    assert not differences(left)
    log.add(policy({}), after=DAY)
    log.add(policy({}), after=DAY)
    assert {key.noun for key in log.world.objects.known} == {"workload"}
    assert not log.world.admissions.answered


def test_another_cluster_keeps_what_it_has() -> None:
    both, one = History(), History()
    both.add_all(workload_up("shop/web", 2, min_available="1"), *of_a_cluster("m1"))
    both.add_all(*of_a_cluster("m2"), cluster_gone("m1"))
    one.add_all(workload_up("shop/web", 2, min_available="1"), *of_a_cluster("m2"))

    assert both.world.pods == one.world.pods
    assert both.world.book == one.world.book
    assert both.world.objects.members == one.world.objects.members
    assert both.world.admissions.within == one.world.admissions.within
    assert not differences(both.world)


def test_a_list_names_what_one_cluster_has_and_takes_nothing_from_others() -> None:
    log = History()
    log.add_all(*of_a_cluster("m1"), *of_a_cluster("m2"))
    before = log.world.objects.inside("pod", "m2")

    log.add(listed("m1", "pod", []))

    assert not log.world.objects.inside("pod", "m1")
    assert log.world.objects.inside("pod", "m2") == before


def test_a_pod_that_went_with_its_cluster_is_removed_as_if_it_had_been_told() -> None:
    log = History()
    pod = replace(seen("m1", "a"), revision=5)
    log.add_all(cluster_up("m1"), pod, cluster_gone("m1"))

    gone = log.add(pod_gone("m1", "shop", "web-7-a")).effect
    stale = log.add(replace(pod, revision=4)).effect
    back = log.add(replace(pod, revision=6)).effect

    assert (gone, stale, back) == ("no_effect", "stale", "applied")
