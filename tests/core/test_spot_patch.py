"""Patches, pins and selectors: examples, odd pods, and what is refused."""

from typing import Any

import pytest

from ledger.core.spot.labels import CapacityClass, NodeLabel
from ledger.core.spot.patch import Marks, Mode, Patch, patch
from ledger.core.spot.pins import user_pin
from ledger.core.spot.selectors import Node, matching_term, read_terms
from ledger.errors import InvalidRequest
from tests.laws.spot_model import applied

KEY = "node.kubernetes.io/capacity"
COST = "controller.kubernetes.io/pod-deletion-cost"
RESERVATION = "distributed-scheduling/reservation"
DESIRED = "distributed-scheduling/desired-capacity"
ON_DEMAND = {"key": KEY, "operator": "In", "values": ["on-demand"]}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SPOT_TERM = {
    "weight": 100,
    "preference": {"matchExpressions": [{"key": KEY, "operator": "In", "values": ["spot"]}]},
}
TOLERATION = {"key": "spot", "operator": "Exists"}
ZONE = {"key": "zone", "operator": "In", "values": ["a"]}


def asked(
    pod: dict[str, Any],
    wanted: CapacityClass = "od",
    mode: Mode = "slots",
    reservation: str | None = "r1",
    **marks: Any,
) -> Patch:
    return patch(pod, wanted=wanted, mode=mode, reservation=reservation, marks=Marks(**marks))


def added(found: Patch) -> list[tuple[str, Any]]:
    return [(add.path, add.value) for add in found.adds]


def requiring(*terms: dict[str, Any]) -> dict[str, Any]:
    """A pod with these required terms."""
    required = {"nodeSelectorTerms": [*terms]}
    return {"metadata": {}, "spec": {"affinity": {"nodeAffinity": {REQUIRED: required}}}}


def on_label(operator: str, *values: str) -> dict[str, Any]:
    """A required term about the capacity label."""
    return {"matchExpressions": [{"key": KEY, "operator": operator, "values": [*values]}]}


def test_a_pod_with_nothing_gets_each_missing_parent_once_with_all_its_content() -> None:
    found = asked({}, "spot", tolerations=[TOLERATION])

    affinity = {"nodeAffinity": {PREFERRED: [SPOT_TERM]}}
    assert added(found) == [
        ("/spec", {"affinity": affinity, "tolerations": [TOLERATION]}),
        ("/metadata", {"annotations": {RESERVATION: "r1"}, "labels": {DESIRED: "spot"}}),
    ]
    assert applied({}, added(found))["spec"]["tolerations"] == [TOLERATION]


def test_null_is_as_good_as_absent_at_every_depth() -> None:
    specs: tuple[dict[str, Any] | None, ...] = (
        None,
        {"affinity": None, "nodeSelector": None},
        {"affinity": {"nodeAffinity": None}},
        {"affinity": {"nodeAffinity": {REQUIRED: None}}},
        {"affinity": {}},
    )
    for spec in specs:
        pod = {"metadata": {"annotations": None, "labels": None}, "spec": spec}

        patched = applied(pod, added(asked(pod)))

        required = patched["spec"]["affinity"]["nodeAffinity"][REQUIRED]
        assert required == {"nodeSelectorTerms": [{"matchExpressions": [ON_DEMAND]}]}
        assert patched["metadata"]["annotations"] == {COST: "1", RESERVATION: "r1"}
        assert patched["metadata"]["labels"] == {DESIRED: "on-demand"}


def test_a_pod_without_a_specification_can_be_alone_too() -> None:
    found = asked({"metadata": {"labels": {}}}, mode="single_sts", reservation=None)

    assert added(found) == [
        ("/spec", {"nodeSelector": {KEY: "on-demand"}}),
        (f"/metadata/labels/{DESIRED.replace('/', '~1')}", "on-demand"),
    ]


def test_a_term_that_has_the_requirement_is_left_and_an_empty_one_too() -> None:
    empty: dict[str, Any] = {"matchExpressions": [], "matchFields": None}
    fields = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
    pod = requiring(
        {"matchExpressions": [ZONE, ON_DEMAND]},
        {},
        {"matchExpressions": [ZONE]},
        empty,
        {**fields, "matchExpressions": None},
        {**fields, "matchExpressions": []},
    )

    paths = [path for path, _ in added(asked(pod, mode="ordinal", reservation=None))]

    at = f"/spec/affinity/nodeAffinity/{REQUIRED}/nodeSelectorTerms"
    assert paths == [
        f"{at}/2/matchExpressions/-",
        f"{at}/4/matchExpressions",
        f"{at}/5/matchExpressions/-",
        "/metadata/labels",
    ]


@pytest.mark.parametrize(
    ("terms", "flag"),
    [([], "invalid_selector_left"), ([{}, {}], "selector_matches_nothing_left")],
)
def test_a_selector_that_selects_nothing_is_left_and_flagged(
    terms: list[dict[str, Any]], flag: str
) -> None:
    pod = requiring(*terms)
    pod["metadata"] = {"annotations": {COST: "7"}}

    found = asked(pod)

    assert found.capacity_class == "od"
    assert found.flags == (flag, "cost_bumped")
    assert not any(path.startswith("/spec") for path, _ in added(found))
    assert asked(pod, "spot").flags == ()
    assert asked(pod, mode="single").flags == ("cost_bumped",)


def test_a_required_affinity_without_a_list_of_terms_is_left_too() -> None:
    pod = {"spec": {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": None}}}}}

    assert asked(pod).flags == ("invalid_selector_left",)


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        (None, [("/spec/tolerations", [TOLERATION])]),
        ([], [("/spec/tolerations/-", TOLERATION)]),
        ([{"key": "other"}], [("/spec/tolerations/-", TOLERATION)]),
        ([TOLERATION], []),
    ],
)
def test_a_toleration_is_added_once(
    present: list[Any] | None, expected: list[tuple[str, Any]]
) -> None:
    pod = {"spec": {"tolerations": present}}

    found = asked(pod, "spot", tolerations=[TOLERATION, dict(TOLERATION)])

    assert [add for add in added(found) if "tolerations" in add[0]] == expected


def test_a_toleration_comes_although_the_preference_is_there_already() -> None:
    pod = {"spec": {"affinity": {"nodeAffinity": {PREFERRED: [SPOT_TERM]}}}}

    found = asked(pod, "spot", tolerations=[TOLERATION])

    assert added(found)[0] == ("/spec/tolerations", [TOLERATION])


def test_on_demand_pods_and_pinned_ones_tolerate_nothing_new() -> None:
    pinned = {"spec": {"nodeSelector": {KEY: "spot"}}}

    pods: list[tuple[dict[str, Any], CapacityClass]] = [({}, "od"), (pinned, "spot")]
    for pod, wanted in pods:
        found = patch(
            pod,
            wanted=wanted,
            mode="slots",
            reservation="r1",
            marks=Marks(tolerations=[TOLERATION]),
        )
        assert not any("tolerations" in path for path, _ in added(found))


def test_a_preference_that_only_python_would_call_the_same_is_another_one() -> None:
    ours = {**SPOT_TERM, "weight": 1}

    for weight, same in ((1, True), (True, False)):
        there = {**ours, "weight": weight}
        pod = {"spec": {"affinity": {"nodeAffinity": {PREFERRED: [there]}}}}
        found = asked(pod, "spot", weight=1)
        assert any(PREFERRED in path for path, _ in added(found)) != same


def test_what_stands_in_a_list_may_be_anything() -> None:
    values: list[Any] = [[], None, {"spot": 1}, "s"]
    expressions = [{"key": KEY, "operator": "In", "values": one} for one in values]
    terms = [{"weight": 100, "preference": {"matchExpressions": [one]}} for one in expressions]
    odd = ["x", None, [SPOT_TERM], {"weight": 100}, {**SPOT_TERM, "preference": [1]}]
    there = [*odd, *terms]
    pod = {"spec": {"affinity": {"nodeAffinity": {PREFERRED: there}}}}

    found = asked(pod, "spot")

    assert added(found)[0] == (f"/spec/affinity/nodeAffinity/{PREFERRED}/-", SPOT_TERM)


@pytest.mark.parametrize(
    ("cost", "written", "flag"),
    [
        (None, "1", ()),
        ("0", "1", ("cost_bumped",)),
        ("-0", "1", ("cost_bumped",)),
        ("-08", "-7", ("cost_bumped",)),
        ("-1", "0", ("cost_bumped",)),
        ("2147483646", "2147483647", ("cost_bumped",)),
        ("2147483647", "2147483647", ("cost_saturated",)),
        ("2147483648", "2147483648", ("cost_invalid_left",)),
        ("+1", "+1", ("cost_invalid_left",)),
        ("", "", ("cost_invalid_left",)),
        ("-" + "0" * 5000 + "1", "0", ("cost_bumped",)),
        ("1" + "0" * 5000, "1" + "0" * 5000, ("cost_invalid_left",)),
    ],
)
def test_an_on_demand_pod_costs_one_more_than_its_template_says(
    cost: str | None, written: str, flag: tuple[str, ...]
) -> None:
    pod = {"metadata": {"annotations": {COST: cost} if cost is not None else {}}}

    found = asked(pod)

    assert applied(pod, added(found))["metadata"]["annotations"][COST] == written
    assert found.flags == flag


def test_a_pod_that_names_its_reservation_is_not_charged_again() -> None:
    pod = {"metadata": {"annotations": {COST: "3", RESERVATION: "r1"}}}

    assert not any("annotations" in path for path, _ in added(asked(pod)))
    assert asked(pod, reservation="r2").flags == ("cost_bumped",)


def test_a_dry_run_shows_the_cost_and_no_reservation() -> None:
    found = asked({"metadata": {}, "spec": {}}, reservation=None)

    assert added(found)[1] == ("/metadata/annotations", {COST: "1"})


def test_nothing_is_added_to_a_pod_that_is_none_of_our_business() -> None:
    found = asked({"spec": {"nodeSelector": {KEY: "spot"}}}, mode="passthrough")

    assert (found.adds, found.flags) == ((), ())
    assert (found.pin, found.capacity_class) == ("spot", "spot")
    assert asked({}, mode="passthrough").capacity_class == "od"


def test_another_cloud_has_another_label() -> None:
    label = NodeLabel("eks.amazonaws.com/capacityType", "ON_DEMAND", "SPOT")

    found = asked({"metadata": {}, "spec": {"nodeSelector": {}}}, mode="single", label=label)

    assert added(found)[0] == ("/spec/nodeSelector/eks.amazonaws.com~1capacityType", "ON_DEMAND")
    assert added(found)[-1] == ("/metadata/labels", {DESIRED: "on-demand"})
    odd = asked({"spec": {"nodeSelector": {}}}, mode="single", label=NodeLabel("a~b/c"))
    assert odd.adds[0].path == "/spec/nodeSelector/a~0b~1c"


@pytest.mark.parametrize(
    ("pod", "pin"),
    [
        ({}, None),
        ({"spec": {"nodeSelector": {KEY: "on-demand"}}}, "od"),
        ({"spec": {"nodeSelector": {KEY: "reserved"}}}, "spot"),
        ({"spec": {"nodeSelector": {KEY: None, "zone": "a"}}}, None),
        (requiring(), None),
        (requiring({}), None),
        (requiring({"matchExpressions": [ZONE]}), None),
        (requiring(on_label("In", "on-demand")), "od"),
        (requiring(on_label("In", "on-demand"), {}), "od"),
        (requiring(on_label("In", "on-demand"), {"matchExpressions": [ZONE]}), None),
        (requiring(on_label("In", "on-demand", "spot")), None),
        (requiring(on_label("In", "spot"), on_label("In", "on-demand")), None),
        (requiring(on_label("NotIn", "spot")), None),
        (requiring(on_label("NotIn", "on-demand")), "spot"),
        (requiring(on_label("Exists")), None),
        (requiring(on_label("DoesNotExist")), "spot"),
        (requiring(on_label("Gt", "3")), "spot"),
        (requiring(on_label("Near", "on-demand")), "spot"),
        (requiring(on_label("In")), "spot"),
        (requiring(on_label("In", "on-demand"), on_label("Near", "x")), "od"),
        (requiring({"matchFields": [{"key": "metadata.name"}]}), None),
    ],
)
def test_a_pin_is_found_in_selector_and_affinity(pod: dict[str, Any], pin: str | None) -> None:
    assert user_pin(pod, NodeLabel()) == pin


@pytest.mark.parametrize(
    ("lowest", "pin"),
    [
        ("3", None),  # 5 is on-demand, and 4 is another value
        ("4", None),  # and so is 05, which on-demand nodes do not carry
        ("5", "spot"),
        ("9223372036854775807", "spot"),
        ("9223372036854775808", "spot"),
    ],
)
def test_numbers_pin_as_well_where_the_label_holds_numbers(lowest: str, pin: str | None) -> None:
    between = on_label("Gt", lowest)["matchExpressions"] + on_label("Lt", "6")["matchExpressions"]

    assert user_pin(requiring({"matchExpressions": between}), NodeLabel(KEY, "5", "6")) == pin


@pytest.mark.parametrize(
    ("bounds", "pin"),
    [
        ([("Gt", "8"), ("Gt", "1"), ("Lt", "6")], "od"),
        ([("Lt", "3"), ("Lt", "9"), ("Gt", "5")], "od"),
        ([("Gt", "5"), ("Lt", "7")], None),
        ([("Gt", "5"), ("Lt", "6")], "od"),
        ([("Gt", "9223372036854775806")], None),
        ([("Lt", "-9223372036854775807")], None),
        ([("Lt", "-9223372036854775808")], "od"),
        ([("Gt", "5"), ("Exists", "x")], "od"),
        ([("Gt", "5"), ("NotIn", "6")], None),
    ],
)
def test_a_range_beside_on_demand_counts_only_if_a_number_is_in_it(
    bounds: list[tuple[str, str]], pin: str | None
) -> None:
    expressions = [
        one for operator, value in bounds for one in on_label(operator, value)["matchExpressions"]
    ]

    pod = requiring(on_label("In", "on-demand"), {"matchExpressions": expressions})

    assert user_pin(pod, NodeLabel()) == pin


def test_a_pin_that_agrees_is_no_conflict() -> None:
    found = asked({"spec": {"nodeSelector": {KEY: "spot"}}}, "spot")

    assert (found.capacity_class, found.flags) == ("spot", ())


def test_a_selector_and_an_affinity_that_exclude_each_other_are_spot_first() -> None:
    pod = requiring(on_label("In", "spot"))
    pod["spec"]["nodeSelector"] = {KEY: "on-demand"}

    found = asked(pod)

    assert (found.pin, found.capacity_class) == ("spot", "spot")
    assert found.flags == ("conflict_user_pin",)


@pytest.mark.parametrize(
    ("requirement", "labels", "holds"),
    [
        ({"operator": "In", "values": ["a", "b"]}, {"x": "b"}, True),
        ({"operator": "In", "values": ["a"]}, {}, False),
        ({"operator": "In", "values": []}, {"x": "a"}, False),
        ({"operator": "NotIn", "values": ["a"]}, {}, True),
        ({"operator": "NotIn", "values": ["a"]}, {"x": "a"}, False),
        ({"operator": "NotIn"}, {}, False),
        ({"operator": "Exists"}, {"x": ""}, True),
        ({"operator": "Exists", "values": ["a"]}, {"x": "a"}, False),
        ({"operator": "DoesNotExist"}, {}, True),
        ({"operator": "DoesNotExist", "values": ["a"]}, {}, False),
        ({"operator": "Gt", "values": ["3"]}, {"x": "+04"}, True),
        ({"operator": "Gt", "values": ["3"]}, {"x": "3"}, False),
        ({"operator": "Gt", "values": ["3"]}, {}, False),
        ({"operator": "Lt", "values": ["-3"]}, {"x": "-4"}, True),
        ({"operator": "Lt", "values": ["3"]}, {"x": "1.5"}, False),
        ({"operator": "Lt", "values": ["3"]}, {"x": "3"}, False),
        ({"operator": "Lt", "values": ["3", "4"]}, {"x": "1"}, False),
        ({"operator": "Lt", "values": ["three"]}, {"x": "1"}, False),
        ({"operator": "Lt", "values": ["9223372036854775808"]}, {"x": "1"}, False),
        (
            {"operator": "Lt", "values": ["9223372036854775807"]},
            {"x": "-9223372036854775808"},
            True,
        ),
        ({"operator": "Lt", "values": ["1"]}, {"x": "-9223372036854775809"}, False),
        ({"operator": "in", "values": ["a"]}, {"x": "a"}, False),
        ({}, {"x": "a"}, False),
    ],
)
def test_a_requirement_holds_or_not(
    requirement: dict[str, Any], labels: dict[str, str], holds: Any
) -> None:
    terms = read_terms([{"matchExpressions": [{"key": "x", **requirement}]}], at="terms")

    assert (matching_term(terms, Node("n", labels)) is not None) == holds


@pytest.mark.parametrize(
    ("field", "holds"),
    [
        ({"key": "metadata.name", "operator": "In", "values": ["n"]}, True),
        ({"key": "metadata.name", "operator": "NotIn", "values": ["n"]}, False),
        ({"key": "metadata.name", "operator": "NotIn", "values": ["m"]}, True),
        ({"key": "metadata.name", "operator": "In", "values": ["n", "m"]}, False),
        ({"key": "metadata.name", "operator": "Exists"}, False),
        ({"key": "metadata.uid", "operator": "NotIn", "values": ["m"]}, False),
    ],
)
def test_a_field_is_the_name_of_the_node_or_nothing(field: dict[str, Any], holds: Any) -> None:
    terms = read_terms([{"matchFields": [field]}], at="terms")

    assert (matching_term(terms, Node("n", {})) is not None) == holds


def test_one_term_is_enough_and_none_is_too_few() -> None:
    terms = read_terms([{}, {"matchExpressions": []}, {"matchExpressions": [ZONE]}], at="terms")

    assert matching_term(terms, Node("n", {"zone": "a"})) == 2
    assert matching_term(terms, Node("n", {})) is None
    assert matching_term((), Node("n", {"zone": "a"})) is None
    without_a_key = read_terms([{"matchExpressions": [{"operator": "Exists"}]}], at="terms")
    assert matching_term(without_a_key, Node("n", {"": "a"})) is None


@pytest.mark.parametrize(
    "pod",
    [
        {"spec": []},
        {"spec": "x"},
        {"metadata": 1},
        {"metadata": {"labels": []}},
        {"metadata": {"annotations": "x"}},
        {"metadata": {"annotations": {COST: 1}}},
        {"spec": {"nodeSelector": []}},
        {"spec": {"nodeSelector": {KEY: 1}}},
        {"spec": {"affinity": []}},
        {"spec": {"affinity": {"nodeAffinity": False}}},
        {"spec": {"affinity": {"nodeAffinity": {REQUIRED: []}}}},
        {"spec": {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": {}}}}}},
        requiring({"matchExpressions": {}}),
        requiring({"matchExpressions": ["x"]}),
        requiring({"matchFields": [{"key": 1}]}),
        requiring({"matchExpressions": [{"key": KEY, "operator": "In", "values": "x"}]}),
        requiring({"matchExpressions": [{"key": KEY, "operator": "In", "values": [1]}]}),
    ],
)
def test_a_pod_with_the_wrong_types_is_refused(pod: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        asked(pod)

    assert refused.value.code == "invalid_request"


@pytest.mark.parametrize(
    "spec",
    [{"tolerations": {}}, {"affinity": {"nodeAffinity": {PREFERRED: {}}}}],
)
def test_what_only_spot_pods_need_is_judged_for_them_only(spec: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match="no array"):
        asked({"spec": spec}, "spot", tolerations=[TOLERATION])

    assert asked({"spec": spec}, mode="single").capacity_class == "od"


@pytest.mark.parametrize(
    "marks",
    [{"weight": 0}, {"weight": 101}, {"tolerations": ["x"]}, {"tolerations": [{"key": []}]}],
)
def test_marks_that_mean_nothing_are_refused(marks: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        asked({}, "spot", **marks)
