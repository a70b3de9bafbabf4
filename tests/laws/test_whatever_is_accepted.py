"""Whatever the border accepts, a fleet can be decided for: no event makes a program fail that took it in.

A fleet stands, and what is told of it has odd values in places: the largest and the smallest, texts that look like numbers,
lists that repeat themselves. What the border refuses is left out. Everything else is decided, and the book adds up.
"""

import copy
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from ledger.events.codec import Accepted, decode
from ledger.events.registry import REGISTRY
from ledger.reducers.conservation import differences
from ledger.units import EventType
from tests.events.samples import EXAMPLES, FROM_OUTSIDE, POLICY, judge
from tests.histories import (
    History,
    cluster_up,
    deployed,
    disk_up,
    divided,
    each_takes,
    job_up,
    node_gone,
    node_up,
    queue_up,
    quota_up,
    replicaset_up,
    requested,
    volume_up,
    workload_up,
)
from tests.laws.test_contracts import at, places

CLASS: Final = "node.kubernetes.io/capacity"

BETWEEN: Final = 700_000
"""Microseconds between two events: rounds and graces run out among them."""

TEXTS: Final = (
    *("", "0", "1", "-1", "1.5", "50%", "50.5%", "1/2", "1e3", "333m", "8Ei", "none", "AUTO", "é"),
    *("eu-1", "us-1", "n1", "n2", "shop", "cart", "report", "Job", "StatefulSet", "x" * 253),
)
ODD: Final = {
    bool: st.booleans(),
    int: st.sampled_from([0, 1, 2, 3, 7, 100, 2**31 - 1, 2**31, 2**53, 2**63 - 1, -1, -(2**31)]),
    str: st.sampled_from(TEXTS),
}


def standing() -> History:
    """A fleet that the examples of events speak of, in which every kind of thing is decided."""
    log = History()
    log.add_all(
        queue_up("batch"),
        quota_up("shop/compute", weight=2),
        *(cluster_up(name) for name in ("eu-1", "us-1")),
        *(
            node_up(cluster, node, cpu=8000, memory=2**34, labels={CLASS: class_})
            for cluster in ("eu-1", "us-1")
            for node, class_ in (("n1", "on-demand"), ("n2", "spot"))
        ),
        *(disk_up(cluster, "n1", "disk-1", maximum=2**40) for cluster in ("eu-1", "us-1")),
        workload_up(
            "shop/cart",
            6,
            division=divided({"eu-1": 2, "us-1": 1}),
            deploy=deployed("AUTO"),
            request=each_takes(cpu=500, memory=2**20),
        ),
        replicaset_up("eu-1", "shop", "cart-abc", ("Deployment", "cart")),
        job_up("shop/report", 3, "batch", cpu=500),
        volume_up("vol-1", 2, size=2**30),
    )
    return log


def stir(log: History) -> None:
    """Let every setting be used: rounds and evictions, classes of nodes, replacements, proposals."""
    log.add_all(
        queue_up("urgent", weight=9),
        job_up("shop/urgent", 6, "batch", cpu=4000, priority=9),
        job_up("ads/other", 6, "urgent", cpu=4000),
        workload_up(
            "shop/web", 5, cluster="eu-1", deploy=deployed("AUTO"), request=each_takes(cpu=700)
        ),
        workload_up("shop/cart", 9, division=divided({"eu-1": 1, "us-1": 2})),
        volume_up("vol-2", 2, size=2**30),
        node_up("us-1", "n1", cpu=2000, memory=2**33, labels={CLASS: "spot"}),
        node_gone("eu-1", "n2"),
        requested("deployments"),
        requested("disks"),
    )


@st.composite
def told(draw: st.DrawFn) -> dict[str, Any]:
    """Something that somebody tells, with odd values in up to three places."""
    type_ = draw(st.sampled_from(FROM_OUTSIDE) | st.just(POLICY))
    event = copy.deepcopy(EXAMPLES[type_])
    for name in ("uid", "revision"):
        # Without these, nothing is out of date.
        event["data"].pop(name, None)
    if type_ == POLICY:
        # Few settings at a time: where one is refused nothing of the policy is taken.
        section = draw(st.sampled_from(sorted(set(event["data"]) - {"salt", "hold", "algorithms"})))
        event["data"] = {section: event["data"][section]}
        if draw(st.booleans()):
            setting = draw(st.sampled_from(sorted(event["data"][section])))
            event["data"] = {section: {setting: event["data"][section][setting]}}
    for _ in range(draw(st.integers(0, 3))):
        path = draw(
            st.sampled_from([one for one in places(event) if one[0] == "data"] or [("id",)])
        )
        place, last = at(event, path[:-1]), path[-1]
        match place[last]:
            case bool() | int() | str() as value:
                place[last] = draw(ODD[type(value)])
            case list() as values:
                place[last] = draw(st.sampled_from([[], values * 2, values[::-1], values[:1]]))
            case dict() as fields:
                kept = draw(st.sets(st.sampled_from(sorted(fields)))) if fields else set()
                place[last] = {name: fields[name] for name in sorted(kept)}
            case _:
                pass
    keys = REGISTRY.contracts[EventType(event["type"])].key_fields
    if keys:
        named = [str(event["data"].get(key, "")) for key in keys]
        event["subject"] = "/".join(name for name in named if name)
    return event


@given(st.lists(told(), min_size=1, max_size=6))
def test_whatever_is_accepted_can_be_decided(events: list[dict[str, Any]]) -> None:
    log = standing()

    for one in events:
        verdict = judge(one)
        if isinstance(verdict, Accepted):
            fact = decode(verdict.stored, revision=1)
            log.add(fact, after=BETWEEN, source=verdict.source, subject=verdict.subject)
            assert not differences(log.world)
    stir(log)
    for _ in range(3):
        log.wait(86_400_000_000)
    assert not differences(log.world)
