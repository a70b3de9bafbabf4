"""How long an admission takes in the core: class and patch, as the webhook would ask for both."""

from fractions import Fraction
from functools import partial
from typing import Any, Final

from ledger.cli.bench.core_case import Asking, Case, Growth
from ledger.core.spot import slots
from ledger.core.spot.patch import Marks, Patch, patch
from ledger.core.spot.pins import REQUIRED, user_pin
from ledger.core.spot.slots import Admission, Slots
from ledger.core.spot.target import Workload, target

DECIDE_AND_PATCH_MS: Final = Fraction(60, 1000)
ADMISSIONS: Final = 100
"""In one asking: a single one is too short to be timed by itself."""

TEMPLATE: Final = "5d9f8c7b6d"

MARKS: Final = Marks(tolerations=({"key": "spot", "operator": "Exists", "effect": "NoSchedule"},))


def _pod(terms: int = 1) -> dict[str, Any]:
    """A pod as a ReplicaSet creates it, with some required terms of its own."""
    zones = [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a", "b"]}]
    required = {"nodeSelectorTerms": [{"matchExpressions": zones} for _ in range(terms)]}
    return {
        "metadata": {
            "generateName": f"web-{TEMPLATE}-",
            "labels": {"app": "web", "pod-template-hash": TEMPLATE},
            "annotations": {"prometheus.io/scrape": "true"},
        },
        "spec": {
            "containers": [{"name": "web", "image": "web:1"}],
            "affinity": {"nodeAffinity": {REQUIRED: required}},
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}],
        },
    }


def _running(pods: int) -> tuple[Slots, Workload]:
    """A Deployment of so many pods, a fifth of them on-demand, most of them seen."""
    workload = Workload("Deployment", 2 * pods, "10%")
    due = target(workload)
    deployment = slots.told_replicas(Slots(), TEMPLATE, 2 * pods)
    for number in range(1, pods + 1):
        deployment = slots.admit(deployment, Admission(f"before-{number}", TEMPLATE), due).slots
        if number % 8:
            deployment = slots.seen(deployment, number).slots
    return deployment, workload


def _admitted(deployment: Slots, workload: Workload, pod: dict[str, Any], uid: str) -> Patch:
    """Everything the core does for one admission."""
    pin = user_pin(pod, MARKS.label)
    admission = Admission(uid, TEMPLATE, user_pin=pin)
    answer = slots.admit(deployment, admission, target(workload)).answer
    assert answer.wanted is not None
    assert answer.reservation is not None
    return patch(
        pod,
        wanted=answer.wanted,
        mode="slots",
        reservation=deployment.name(answer.reservation),
        marks=MARKS,
    )


def _all_admitted(deployment: Slots, workload: Workload, pod: dict[str, Any]) -> None:
    for number in range(ADMISSIONS):
        _admitted(deployment, workload, pod, f"admission-{number}")


def _decide_and_patch(pods: int) -> Asking:
    return partial(_all_admitted, *_running(pods), _pod())


def _burst(pods: int) -> None:
    """A Deployment is created: nothing is seen while all of its pods are admitted."""
    due = target(Workload("Deployment", pods, "25%"))
    deployment = slots.told_replicas(Slots(), TEMPLATE, pods)
    for number in range(pods):
        deployment = slots.admit(deployment, Admission(f"u{number}", TEMPLATE), due).slots


CASES: Final[tuple[Case, ...]] = (
    Case(
        "admission-40",
        "class and patch of one pod of a Deployment of 40",
        partial(_decide_and_patch, 40),
        DECIDE_AND_PATCH_MS,
        ADMISSIONS,
    ),
    Case(
        "admission-1000",
        "class and patch of one pod of a Deployment of 1,000",
        partial(_decide_and_patch, 1_000),
        DECIDE_AND_PATCH_MS,
        ADMISSIONS,
    ),
)

GROWTHS: Final[tuple[Growth, ...]] = (
    Growth(
        "admission-burst",
        "admissions of all pods of a Deployment before any of them is seen",
        lambda pods: partial(_burst, pods),
        (125, 250, 500, 1_000),
    ),
    Growth(
        "patch-terms",
        "patch of a pod by the number of its required terms",
        lambda terms: partial(
            patch, _pod(terms), wanted="od", mode="slots", reservation="r1", marks=MARKS
        ),
        (20, 40, 80, 160),
    ),
)
