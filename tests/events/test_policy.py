"""A policy, how it is changed, and how it is written down."""

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.core.spot.min_available import read_min_available
from ledger.events.codec import Accepted, decode
from ledger.facts import algorithms
from ledger.facts.control import PolicyChanged
from ledger.facts.policy import (
    FairsharePolicy,
    GracePolicy,
    History,
    Policy,
    Toleration,
    as_plain,
    from_plain,
    merge,
)
from ledger.units import Milliseconds
from tests.events.samples import POLICY, accepted, example, judge, refused, with_data


def change_of(data: dict[str, object]) -> PolicyChanged:
    """What a policy event says."""
    fact = decode(accepted(with_data(POLICY, data)).stored, revision=1)
    assert isinstance(fact, PolicyChanged)
    return fact


def test_the_defaults_are_those_of_the_documentation() -> None:
    plain = as_plain(Policy())

    assert plain == {
        "division": {"inertia": "minimal", "kappa": None},
        "placement": {"global_policy": "nearest_level", "max_deploy": 1000},
        "disk": {
            "alpha": [1, 1],
            "scope": "node",
            "replenish_wait": 600_000,
            "node_soft": False,
            "zone_soft": True,
            "disk_soft": True,
            "over_provisioning_pct": 100,
            "min_available_pct": 25,
            "default_reserved_pct": 30,
            "auto_balance": "disabled",
            "disk_pressure_pct": 90,
            "allow_empty_node_selector": True,
            "allow_empty_disk_selector": True,
            "degraded_creation": True,
            "rebuild_limit": 5,
        },
        "fairshare": {
            "job_order": ["priority", "gang", "drf"],
            "voters": {
                "preempt": ["conformance", "gang", "drf"],
                "reclaim": ["conformance", "gang", "proportion"],
            },
            "preempt": False,
            "reclaim": False,
            "scope": "per_queue",
            "history": None,
        },
        "spot": {
            "label": "node.kubernetes.io/capacity",
            "on_demand": "on-demand",
            "spot": "spot",
            "weight": 100,
            "tolerations": [],
            "default_min_available": None,
            "strictness": "clamp",
            "reservation_ms": 60_000,
        },
        "round": {"max_events": 100, "max_milliseconds": 1000, "max_tasks": 500},
        "retry": {"max_subjects": 64},
        "grace": {"cluster_ms": 0, "node_ms": 0},
        "algorithms": dict.fromkeys(
            ("division", "placement", "disk", "fairshare", "spot", "engine"), 1
        ),
        "hold": False,
    }


def test_a_change_touches_what_it_names_and_nothing_else() -> None:
    change = change_of({"division": {"kappa": "1/3"}, "grace": {"node_ms": 5}, "hold": True})

    policy = merge(Policy(), change.change, default=Policy())

    assert policy.division.kappa == Fraction(1, 3)
    assert policy.division.inertia == "minimal"
    assert policy.grace == GracePolicy(node_ms=Milliseconds(5))
    assert policy.hold is True
    assert policy.disk == Policy().disk


def test_null_goes_back_to_the_default_of_the_fleet() -> None:
    own = Policy(grace=GracePolicy(cluster_ms=Milliseconds(7), node_ms=Milliseconds(8)))
    changed = merge(own, change_of({"grace": {"cluster_ms": 1, "node_ms": 2}}).change, default=own)

    one = merge(changed, change_of({"grace": {"node_ms": None}}).change, default=own)
    all_ = merge(changed, change_of({"grace": None}).change, default=own)

    assert one.grace == GracePolicy(cluster_ms=Milliseconds(1), node_ms=Milliseconds(8))
    assert all_ == own


def after_histories(*told: dict[str, object] | None) -> History | None:
    """The history in force once each was told, one after the other."""
    policy = Policy()
    for history in told:
        change = change_of({"fairshare": {"history": history}}).change
        policy = merge(policy, change, default=Policy())
    return policy.fairshare.history


def test_history_is_turned_on_and_off_as_a_whole() -> None:
    assert after_histories({}) == History()
    assert after_histories({}, None) is None


def test_fields_of_the_history_are_changed_one_by_one() -> None:
    short = {"bucket_ms": 1000, "decay": "1/2"}
    known = History(bucket_ms=Milliseconds(1000), decay=Fraction(1, 2))

    assert after_histories(short) == known
    assert after_histories(short, {}) == known
    assert after_histories(short, {"past_weight": "1/2"}) == replace(
        known, past_weight=Fraction(1, 2)
    )
    assert after_histories(short, {"decay": None}) == History(bucket_ms=Milliseconds(1000))
    assert after_histories(short, None, {"entry_penalty": False}) == History(entry_penalty=False)
    assert after_histories({"decay": None}) == History()


def test_the_history_of_a_fleet_that_was_born_with_one_is_its_default() -> None:
    own = Policy(fairshare=FairsharePolicy(history=History(bucket_ms=Milliseconds(5))))
    told: dict[str, object] = {"bucket_ms": 7, "decay": "1/2"}
    changed = merge(own, change_of({"fairshare": {"history": told}}).change, default=own)

    back = change_of({"fairshare": {"history": {"bucket_ms": None}}}).change
    assert merge(changed, back, default=own).fairshare.history == History(
        bucket_ms=Milliseconds(5), decay=Fraction(1, 2)
    )
    off = change_of({"fairshare": {"history": None}}).change
    assert merge(changed, off, default=own) == own


def test_a_version_that_no_release_has_is_refused_and_one_in_a_log_is_read() -> None:
    said = with_data(POLICY, {"algorithms": {"engine": 99}})

    # Other tests may have brought versions, and what was brought means something for good.
    known = ", ".join(map(str, algorithms.numbers("engine")))
    assert refused(said) == (
        "unknown_algorithm",
        f"data.algorithms.engine: 99, but there is {known}",
    )
    stored = json.dumps(said).encode()
    assert decode(stored, revision=1) == PolicyChanged((("algorithms.engine", 99),), None)


@pytest.mark.parametrize(
    ("told", "path"),
    [
        ({"dsik": {"alpha": 1}}, "data.dsik"),
        ({"hold": True, "disk": {"alhpa": 1}}, "data.disk.alhpa"),
        ({"disk.alpha": 1}, "data.disk.alpha"),
        ({"fairshare": {"voters": {"preemt": []}}}, "data.fairshare.voters.preemt"),
        ({"fairshare": {"history": {"bucket": 1}}}, "data.fairshare.history.bucket"),
        ({"spot": {"tolerations": [{"kee": "a"}]}}, "data.spot.tolerations.0.kee"),
        ({"algorithms": {"later": None}}, "data.algorithms.later"),
    ],
)
def test_a_setting_that_nobody_knows_is_refused_and_one_in_a_log_means_nothing(
    told: dict[str, Any], path: str
) -> None:
    """Whoever misspells a setting would otherwise believe that it is in force."""
    said = with_data(POLICY, told)

    assert refused(said) == ("unknown_setting", f"{path}: there is no such setting")
    assert isinstance(decode(json.dumps(said).encode(), revision=1), PolicyChanged)


@pytest.mark.parametrize(
    ("told", "path", "why"),
    [
        ({"fairshare": {"job_order": ["gang", "drf", "gang"]}}, "fairshare.job_order", "gang"),
        ({"fairshare": {"voters": {"preempt": ["drf"] * 2}}}, "fairshare.voters.preempt", "drf"),
        ({"fairshare": {"voters": {"reclaim": ["gang"] * 2}}}, "fairshare.voters.reclaim", "gang"),
    ],
)
def test_a_list_names_nobody_twice(told: dict[str, Any], path: str, why: str) -> None:
    # The core reads an order, and voters who vote once: no decision could be made with these.
    assert refused(with_data(POLICY, told)) == ("wrong_field", f"data.{path}: {why} is named twice")


@given(
    st.sampled_from(["3", "0", "100%", "999999999", "-1", "50.5%", "101%", "", " 3", "03", "٣"])
    | st.text("0123456789%.- ", max_size=12)
)
def test_a_default_that_the_border_takes_is_one_that_can_be_read(text: str) -> None:
    verdict = judge(with_data(POLICY, {"spot": {"default_min_available": text}}))

    if isinstance(verdict, Accepted):
        assert read_min_available(text, replicas=1).pods is not None
    else:
        assert verdict.reason in {"wrong_field", "out_of_range"}


@given(st.integers(0, 999_999_999).map(str) | st.integers(0, 100).map(lambda one: f"{one}%"))
def test_every_default_that_somebody_would_write_is_taken(text: str) -> None:
    accepted(with_data(POLICY, {"spot": {"default_min_available": text}}))


def test_a_setting_that_nobody_knows_is_refused_behind_what_is_wrong_by_itself() -> None:
    said = with_data(POLICY, {"alhpa": 1, "hold": "yes"})

    assert refused(said)[0] == "wrong_field"


def test_every_setting_can_be_changed_by_an_event() -> None:
    everything = decode(accepted(example(POLICY)).stored, revision=1)
    assert isinstance(everything, PolicyChanged)

    policy = merge(Policy(), everything.change, default=Policy())

    before, after = dict(leaves("", as_plain(Policy()))), dict(leaves("", as_plain(policy)))
    versions = {path for path in before if path.startswith("algorithms.")}
    assert {path for path in before if before[path] == after.get(path)} == versions | {
        "grace.node_ms",
        "spot.on_demand",
        "spot.spot",
    }


def leaves(prefix: str, plain: object) -> list[tuple[str, str]]:
    """Every setting by its path, spelled out."""
    if not isinstance(plain, dict):
        return [(prefix.removesuffix("."), json.dumps(plain))]
    return [leaf for name, entry in plain.items() for leaf in leaves(f"{prefix}{name}.", entry)]


@pytest.mark.parametrize("data", [{}, {"salt": "x"}])
def test_an_empty_change_changes_nothing(data: dict[str, object]) -> None:
    assert merge(Policy(), change_of(data).change, default=Policy()) == Policy()


def test_a_policy_that_is_written_is_read_back() -> None:
    everything = decode(accepted(example(POLICY)).stored, revision=1)
    assert isinstance(everything, PolicyChanged)
    policy = merge(Policy(), everything.change, default=Policy())

    read = from_plain(json.loads(json.dumps(as_plain(policy))))

    assert read == policy
    assert read.spot.tolerations == (Toleration("spot", "Equal", "true", "NoSchedule", 60),)


def test_a_policy_written_before_a_setting_existed_has_its_default() -> None:
    plain = as_plain(Policy())
    del plain["retry"]

    assert from_plain(plain) == Policy()
