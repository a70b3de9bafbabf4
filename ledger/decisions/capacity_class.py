"""How many instances of a workload belong on on-demand nodes of a cluster, its *target*.

The core is asked with the workload's text about availability, the last one that could be read, and
the share of the cluster as the number of replicas (``ledger.core.spot.target``). Deployments ask the
same whenever they place something; a decision of its own is made only where the workload carries a
text, and only when the target or what is to be said about it changed.

A raised target moves nothing that is placed.
"""

from typing import Final

from ledger.core.spot.target import Target, Workload
from ledger.decisions import versions
from ledger.decisions.answer import Answered
from ledger.facts.canonical import digest
from ledger.facts.capacity_class import CapacityClass
from ledger.facts.workload import WorkloadUpserted
from ledger.reducers.candidates import wish
from ledger.reducers.instances import LastTarget, workload_of
from ledger.reducers.world import Causes, Question, World
from ledger.units import ClusterName, Subject

SYSTEM: Final = "spot"


def answer(_: World, world: World, question: Question, causes: Causes) -> tuple[Answered, ...]:
    """The subject's target, if it is another than the one recorded last."""
    subject = question.subject
    state = world.deployments.of.get(subject)
    workload = world.workload(workload_of(subject))
    if state is None or not state.share or workload is None or workload.min_available is None:
        return ()
    found = target_of(world, workload, state.share)
    before = world.deployments.targets.get(subject)
    if before == LastTarget(found.pods, found.flags):
        return ()
    spot = world.policy.spot
    inputs = {
        "kind": workload.kind,
        "share": state.share,
        "annotation": workload.min_available,
        "last_valid": _last_valid(world, workload),
        "default": spot.default_min_available,
        "strictness": spot.strictness,
    }
    return (
        Answered(
            subject=subject,
            algorithm=SYSTEM,
            version=world.policy.algorithms.spot,
            inputs=digest(inputs).hex(),
            branch=found.mode,
            outcome=CapacityClass(
                namespace=workload.namespace,
                workload=workload.name,
                uid=workload.uid,
                cluster=state.cluster,
                share=state.share,
                target=found.pods,
                previous=None if before is None else before.target,
                mode=found.mode,
                flags=found.flags,
                read=found.read,
                min_available=found.min_available,
                majority=found.majority,
                because=tuple(sorted(causes)),
            ),
            moved=0,
        ),
    )


def target_of(world: World, workload: WorkloadUpserted, share: int) -> Target:
    """The target of a workload where its share is this."""
    rules = versions.spot(world.policy.algorithms.spot)
    spot = world.policy.spot
    return rules.target(
        Workload(
            kind=workload.kind,
            replicas=share,
            annotation=workload.min_available,
            last_valid=_last_valid(world, workload),
        ),
        default=spot.default_min_available,
        strictness=spot.strictness,
    )


def replicas_in(world: World, workload: WorkloadUpserted, cluster: ClusterName) -> int | None:
    """How many replicas of a workload a cluster is to have; None where that is not decided yet."""
    subject = Subject(f"{workload.namespace}/{workload.name}")
    if wish(workload) is None:
        return workload.replicas
    last = world.divisions.last.get(subject)
    if last is None or not last.in_force:
        return None
    return sum(share.replicas for share in last.division.shares if share.cluster == cluster)


def _last_valid(world: World, workload: WorkloadUpserted) -> str | None:
    key = Subject(f"{workload.namespace}/{workload.name}")
    return world.deployments.annotations.get(key)
