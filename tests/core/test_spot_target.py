"""Annotations, targets and ordinals: examples, refusals, and the numbers at the edges."""

import pytest

from ledger.core.spot.min_available import read_min_available
from ledger.core.spot.ordinal import Place, Pod, place
from ledger.core.spot.repair import ordinals_to_recreate
from ledger.core.spot.target import Target, Violation, Workload, target, violation
from ledger.errors import InvalidRequest


@pytest.mark.parametrize(
    ("text", "replicas", "kind", "pods"),
    [
        ("0", 5, "int", 0),
        ("\t\n\v\f\r 7 ", 5, "int", 7),
        ("2147483647", 5, "int", 2**31 - 1),
        ("2147483648", 5, "invalid", None),
        ("99999999999", 5, "invalid", None),
        ("1%", 0, "percent", 0),
        ("1%", 1, "percent", 1),
        ("50%", 5, "percent", 3),
        ("100%", 5, "percent", 5),
        ("100%", 10**40, "percent", 10**40),
        ("101%", 5, "invalid", None),
        ("05%", 5, "invalid", None),
        ("-0", 5, "invalid", None),
        ("03", 5, "invalid", None),
        ("+3", 5, "invalid", None),
        ("3 %", 5, "invalid", None),
        ("50.5%", 5, "invalid", None),
        ("٣", 5, "invalid", None),
        ("\u00a03", 5, "invalid", None),
        ("\x1c3", 5, "invalid", None),
        ("", 5, "invalid", None),
        ("9" * 10_000, 5, "invalid", None),
        (None, 5, "absent", None),
    ],
)
def test_an_annotation_is_read(
    text: str | None, replicas: int, kind: str, pods: int | None
) -> None:
    read = read_min_available(text, replicas=replicas)

    assert (read.kind, read.pods) == (kind, pods)


@pytest.mark.parametrize("replicas", [-1, True])
def test_replicas_are_a_count(replicas: int) -> None:
    for ask in (
        lambda: read_min_available("1", replicas=replicas),
        lambda: target(Workload("Deployment", replicas, "1")),
        lambda: violation(Workload("StatefulSet", replicas, "1")),
    ):
        with pytest.raises(InvalidRequest, match="replicas"):
            ask()


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
@pytest.mark.parametrize("replicas", [None, 0, 1])
@pytest.mark.parametrize("annotation", [None, "0", "oops"])
def test_a_lone_replica_is_on_demand_whatever_was_asked_for(
    kind: str, replicas: int | None, annotation: str | None
) -> None:
    assert target(Workload(kind, replicas, annotation)) == Target(1, "single")


def test_another_kind_is_left_alone_even_with_one_replica() -> None:
    assert target(Workload("DaemonSet", 1, "1")) == Target(None, "passthrough")


def test_a_statefulset_can_be_raised_to_all_of_its_replicas() -> None:
    found = target(Workload("StatefulSet", 2, "1"))

    assert (found.pods, found.majority, found.min_available) == (2, 2, 1)
    assert found.flags == ("raised_to_majority", "all_on_demand")


def test_a_bare_majority_is_enough() -> None:
    assert target(Workload("StatefulSet", 5, "3")).flags == ()
    assert target(Workload("StatefulSet", 4, "3")).flags == ()


def test_an_invalid_annotation_falls_back_and_says_so() -> None:
    invalid = Workload("StatefulSet", 10, "oops", last_valid="20%")

    found = target(invalid)

    assert found.pods == 6
    assert found.read == "20%"
    assert found.flags == ("annotation_invalid", "last_valid_used", "raised_to_majority")


@pytest.mark.parametrize("last_valid", [None, "oops", ""])
def test_without_a_readable_history_an_invalid_annotation_leaves_the_pods_alone(
    last_valid: str | None,
) -> None:
    found = target(Workload("Deployment", 3, "oops", last_valid))

    assert (found.pods, found.mode, found.flags) == (None, "passthrough", ("annotation_invalid",))


def test_a_removed_annotation_is_remembered_but_not_used() -> None:
    workload = Workload("Deployment", 9, "4").annotated(None)
    assert target(workload).pods is None

    again = workload.annotated("oops")
    assert target(again).pods == 4

    assert target(again.annotated("1").scaled(2)).pods == 1


def test_the_policy_may_say_what_counts_without_an_annotation() -> None:
    plain, annotated = Workload("Deployment", 8, None), Workload("Deployment", 8, "1")

    assert target(plain, default="50%").pods == 4
    assert target(plain, default="50%").flags == ("default_used",)
    assert target(annotated, default="50%").flags == ()
    assert target(Workload("Deployment", 8, "oops"), default="50%").pods is None
    with pytest.raises(InvalidRequest, match="default"):
        target(plain, default="half")


def test_taken_literally_a_statefulset_may_have_fewer_than_a_majority() -> None:
    found = target(Workload("StatefulSet", 5, "1"), strictness="literal")

    assert (found.pods, found.mode, found.flags) == (1, "ordinal", ())


@pytest.mark.parametrize(
    ("replicas", "annotation", "expected"),
    [
        (5, "2", Violation("min_available_too_small", 2, 3, 4)),
        (4, "2", Violation("min_available_too_small", 2, 3, 3)),
        (5, "5", Violation("min_available_too_large", 5, 3, 4)),
        (5, "oops", Violation("annotation_invalid", None, 3, 4)),
        (2, "1", Violation("min_available_too_small", 1, 2, 2)),
        (2, "2", None),
        (3, "2", None),
        (5, None, None),
        (1, "oops", None),
    ],
)
def test_a_strict_policy_refuses_what_is_no_majority(
    replicas: int, annotation: str, expected: Violation | None
) -> None:
    assert violation(Workload("StatefulSet", replicas, annotation)) == expected


def test_a_strict_policy_still_places_the_pods_of_what_it_would_refuse() -> None:
    found = target(Workload("StatefulSet", 5, "2"), strictness="strict")

    assert found.pods == 3
    assert violation(Workload("Deployment", 5, "0")) is None


THREE = Target(3, "ordinal")


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (Pod("db-2", "db"), Place("od", 2, 2)),
        (Pod("db-3", "db"), Place("spot", 3, 3)),
        (Pod("db-02", "db"), Place("od", 2, 2)),
        (Pod("my-db-2-1", "my-db-2"), Place("od", 1, 1)),
        (Pod("my-db-2-1", "my-db"), Place(None, None, None)),
        (Pod("db", "db"), Place(None, None, None)),
        (Pod("db-", "db"), Place(None, None, None)),
        (Pod("db-٣", "db"), Place(None, None, None)),
        (Pod("db-3\n", "db"), Place(None, None, None)),
        (Pod("db-9", "db", "1"), Place("od", 1, 1)),
        (Pod("anything", "db", "1"), Place("od", 1, 1)),
        (Pod("db-9", "db", "one"), Place("spot", 9, 9)),
        (Pod("db-9", "db", ""), Place("spot", 9, 9)),
        (Pod("db-9", "db", "-1"), Place("spot", 9, 9)),
        (Pod("db-12", "db", start=10), Place("od", 12, 2)),
        (Pod("db-9", "db", start=10), Place("spot", 9, -1)),
        (Pod(f"db-{10**100}", "db"), Place("spot", 10**100, 10**100)),
        (Pod(f"db-{'0' * 249}1", "db"), Place("od", 1, 1)),
    ],
)
def test_an_ordinal_gives_a_pod_its_class(pod: Pod, expected: Place) -> None:
    assert place(pod, THREE) == expected


def test_a_lone_replica_goes_by_its_index_too() -> None:
    single = Target(1, "single")

    assert place(Pod("db-0", "db"), single).capacity_class == "od"
    assert place(Pod("db-1", "db"), single).capacity_class == "spot"
    assert place(Pod("db-1", "db"), Target(None, "passthrough")) == Place(None, 1, 1)


@pytest.mark.parametrize(
    "pod",
    [Pod("db-" + "0" * 251, "db"), Pod("db-1", "db", "1" * 5000), Pod("db-1", "db", start=-1)],
)
def test_what_kubernetes_cannot_have_written_is_refused(pod: Pod) -> None:
    with pytest.raises(InvalidRequest) as refused:
        place(pod, THREE)

    assert refused.value.code == "invalid_request"


def test_what_a_raised_target_leaves_to_recreate() -> None:
    assert ordinals_to_recreate({4: "spot", 2: None, 1: "spot", 0: "od"}, THREE) == (1, 2)
    assert ordinals_to_recreate({0: "spot"}, Target(None, "passthrough")) == ()
