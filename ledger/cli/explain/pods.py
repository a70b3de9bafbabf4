"""What a pod has to do with the ledger: whose it is, where it was seen, and what was placed there.

A pod is found by ``cluster/namespace/pod``, or without its cluster, or by its name alone if some workload that was ever decided
about begins it, as controllers name their pods. Whose it is follows as in the book: by its owner, and
through a ReplicaSet by whoever owns that. The decision that is explained is the one by which the pod's
node has instances or tasks; a pod where nothing was placed is explained by the newest about its workload.
"""

from dataclasses import dataclass
from typing import Any, Final

from ledger.cli.explain.derivation import workload_of
from ledger.facts.division import Division
from ledger.log.database import Connection
from ledger.views import derivations
from ledger.views.derivations import NEWEST, Place, Recorded, Told

SEEN: Final = "ledger.workload.pod.observed.v1"
GONE: Final = "ledger.workload.pod.deleted.v1"
REPLICASET: Final = "ledger.workload.replicaset.upserted.v1"

MOST_SPELLINGS: Final = 64
"""Places where a pod that is called by its name alone is looked for."""


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod as it was seen last, and the workload it counts for."""

    seen: Told
    cluster: str
    namespace: str
    name: str
    node: str | None
    workload: str | None
    """None where no owner is told."""
    owner: str | None = None
    """The ReplicaSet that owns it, where nobody told who owns that."""

    @property
    def part(self) -> str:
        """The subject of what its workload has on the nodes of its cluster."""
        return f"{self.workload}@{self.cluster}"


async def find(connection: Connection, fleet: str, what: str, *, at: int = NEWEST) -> list[Pod]:
    """The pods that are meant."""
    match what.count("/"):
        case 2:
            spellings = [what]
        case 0 | 1:
            space, _, name = what.rpartition("/")
            spellings = await _spellings(connection, fleet, space, name, at)
        case _:
            return []
    found = []
    for spelled in spellings:
        seen = await derivations.last_said(connection, fleet, [spelled], [SEEN, GONE], at=at)
        if seen is not None:
            found.append(await _pod(connection, fleet, spelled, seen, at))
    return found


async def first_seen(connection: Connection, fleet: str, what: str) -> int | None:
    """The position of the first event that speaks of the pods that are meant; None where none does."""
    found = [
        await derivations.first_said(connection, fleet, pod.seen.subject, [SEEN, GONE])
        for pod in await find(connection, fleet, what)
    ]
    return min((position for position in found if position is not None), default=None)


async def _spellings(
    connection: Connection, fleet: str, space: str, name: str, at: int
) -> list[str]:
    """Where a pod of this name may be: on the clusters of workloads that begin its name.

    ``space`` is the namespace, empty where any will do.
    """
    known = await derivations.subjects(connection, fleet)
    spelled: set[str] = set()
    for subject in known:
        namespace, _, workload = workload_of(subject).partition("/")
        if not workload or space not in ("", namespace) or not name.startswith(f"{workload}-"):
            continue
        clusters = {subject.rpartition("@")[2]} if "@" in subject else set()
        divided = await derivations.newest(connection, fleet, subject, ["division"], at=at)
        if divided is not None and isinstance(divided.decision.outcome, Division):
            clusters.update(share.cluster for share in divided.decision.outcome.shares)
        ran = await derivations.newest(connection, fleet, subject, ["allocation"], at=at)
        if ran is not None:
            outcome = ran.decision.outcome
            clusters.update(task.cluster for task in getattr(outcome, "tasks", ()))
        spelled.update(f"{cluster}/{namespace}/{name}" for cluster in clusters)
    return sorted(spelled)[:MOST_SPELLINGS]


async def _pod(connection: Connection, fleet: str, spelled: str, seen: Told, at: int) -> Pod:
    cluster, namespace, name = spelled.split("/")
    data = seen.data
    if seen.type == GONE:
        before = await derivations.last_said(connection, fleet, [spelled], [SEEN], at=at)
        data = {} if before is None else before.data
    owner: dict[str, Any] = data.get("owner") or {}
    stray = None
    if owner.get("kind") == "ReplicaSet":
        name_of_set = owner.get("name")
        set_ = f"{cluster}/{namespace}/{owner.get('name')}"
        told = await derivations.last_said(connection, fleet, [set_], [REPLICASET], at=at)
        owner = {} if told is None else told.data.get("owner") or {}
        stray = None if owner.get("name") else name_of_set
    workload = f"{namespace}/{owner['name']}" if owner.get("name") else None
    return Pod(seen, cluster, namespace, name, data.get("node"), workload, stray)


async def decided(
    connection: Connection, fleet: str, pod: Pod, *, at: int = NEWEST
) -> Recorded | None:
    """The decision by which something is where the pod is, or else the newest about its workload."""
    if pod.workload is None:
        return None
    there = await here(connection, fleet, pod) if at == NEWEST else []
    if there:
        return await derivations.decision(connection, fleet, there[0].number)
    for subject, kinds in (
        (pod.part, ["deployment", "refusal/deployment"]),
        (pod.workload, ["allocation", "division"]),
        (pod.workload, ["refusal/allocation", "refusal/division"]),
    ):
        found = await derivations.newest(connection, fleet, subject, kinds, at=at)
        if found is not None:
            return found
    return None


async def here(connection: Connection, fleet: str, pod: Pod) -> list[Place]:
    """What of its workload is in force on its node now."""
    if pod.workload is None or pod.node is None:
        return []
    wanted = [("deployment", pod.part), ("allocation", pod.workload)]
    found = await derivations.places(connection, fleet, wanted)
    return [one for one in found if (one.cluster, one.node) == (pod.cluster, pod.node)]


def told(pod: Pod, there: list[Place], *, as_of_now: bool) -> list[str]:
    """What is known of a pod."""
    data, seen = pod.seen.data, pod.seen
    if seen.type == GONE:
        lines = [f"{pod.name} is gone from {pod.cluster}: event {seen.position}"]
    else:
        ready = "" if "ready" not in data else ", ready" if data["ready"] else ", not ready"
        phase = data.get("phase", "of unknown phase")
        going = ", terminating" if data.get("terminating") else ""
        lines = [f"{pod.name} is {phase}{ready}{going} in {pod.cluster}: event {seen.position}"]
    if pod.workload is None:
        whose = "no owner is told"
        if pod.owner is not None:
            whose = f"it is of ReplicaSet {pod.owner}, and nobody told whose that is"
        return [*lines, f"{whose}, so it counts for no workload"]
    lines.append(f"it counts for {pod.workload}")
    if pod.node is None:
        return [*lines, "it is on no node yet: its cluster's scheduler has not bound it"]
    if not as_of_now:
        return [*lines, f"it is on {pod.cluster}/{pod.node}"]
    lines += [
        f"on its node {pod.cluster}/{pod.node} are {one.held} in force, as of #{one.number}, since"
        f" event {one.since_position}"
        for one in there
    ]
    if not there:
        lines.append(f"the ledger placed nothing of it on its node {pod.cluster}/{pod.node}")
    return lines
