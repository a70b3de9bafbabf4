"""Which pods of a template were admitted, and how each of them stands.

A pod that is about to be created has no name yet, so what is decided about it is a *reservation*: a
row of its template, named after the decision that opened it. The pod carries the name, and is known
by it once it is seen. Rows have numbers, the oldest the lowest:

``open``       decided, and nothing was heard since
``confirmed``  its pod was seen, by the cluster's reports or in a list
``lapsed``     given up while open: its time ran out, or there was no room for its pod
``lost``       its pod had been seen, and must have gone without our hearing of it
``released``   its pod is going or gone, by reports or by a list, and never returns

Pods that nobody admitted here have rows without a name, as long as somebody keeps the template's.

A template is known by its ReplicaSet. It is kept from the first admission of one of its pods until
it has no row: what pods there are before, and after, their reports tell. A row lives as long as its
pod does; one that no pod was ever seen of, until ``REMEMBERED`` is over. So does the knowledge of
which admissions there were: nobody repeats a call that long ago, and whoever did is known by the log.

What moves rows is told in ``ledger.reducers.admissions``, and who is admitted in
``ledger.decisions.admission``.
"""

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from immutables import Map

from ledger.facts.own import AdmissionRequested, UserPin
from ledger.facts.reason import Deadline
from ledger.facts.workload import Owner, PodObserved, ReplicaSetUpserted
from ledger.reducers.objects import Objects
from ledger.reducers.sightings import behind
from ledger.units import ClusterName, DecisionNumber, Microseconds, Position, Subject, Uid

REMEMBERED: Final = 10 * 60 * 1_000_000
"""Ten minutes: many times as long as an API server waits for anything."""

Standing = Literal["open", "confirmed", "lapsed", "lost", "released"]


class Row(NamedTuple):
    """One pod that is or was to be, of a template."""

    capacity: UserPin | None
    """The class it was admitted to, or lowered to since; None where nobody admitted it: its label or
    node says."""
    standing: Standing
    name: str | None
    """Of the reservation, as the pod carries it."""
    pod: str | None = None
    """The pod's name, once it was reported."""
    uid: Uid | None = None
    """Of its life."""
    expires: Microseconds = Microseconds(0)
    """When it runs out, if it is still open then."""
    overdue: bool = False
    """Whether that moment has passed, and nothing the cluster told since says that there is no pod."""
    lost_at: Microseconds = Microseconds(0)
    """When it was taken for lost, if it is."""
    pinned: bool = False
    """Whether its user insists on the class."""
    seen: Position | None = None
    """The last event that told of its pod."""

    @property
    def named(self) -> str | None:
        """The reservation's name, or the pod's where nobody admitted it."""
        return self.pod if self.name is None else self.name


class Template(NamedTuple):
    """The pods of one ReplicaSet."""

    subject: Subject
    """The workload in its cluster."""
    hash: str
    last: int = 0
    """The newest row's number."""
    rows: Map[int, Row] = Map()
    open: tuple[int, ...] = ()
    """Those that are open."""
    pods: Map[str, int] = Map()
    """Whose row a pod's is, by its name."""
    number: DecisionNumber | None = None
    """Of the last decision about one of its pods."""
    deadline: Deadline | None = None
    """When the first of those that are open runs out, but for those that are overdue."""


class Asking(NamedTuple):
    """An admission that waits for its answer."""

    fact: AdmissionRequested
    position: Position
    kind: str
    """Of the workload behind the pod; empty where none was found."""
    workload: Subject | None
    replicaset: Subject | None
    """Whose template it is, where that counts."""
    asked: DecisionNumber | None = None
    """The decision that wants the pods to be listed first."""


class Answered(NamedTuple):
    """An admission that was answered."""

    position: Position
    hash: str
    replicaset: Subject | None
    reservation: str | None
    """What it opened, by its name."""


class Reserved(NamedTuple):
    """Where a reservation is."""

    replicaset: Subject
    row: int


class Forgetting(NamedTuple):
    """When which admission is forgotten."""

    until: Microseconds
    uid: str


@dataclass(frozen=True)
class Admissions:
    """All of them."""

    templates: Map[Subject, Template]
    """By cluster/namespace/replicaset."""
    reservations: Map[str, Reserved]
    """By the name that pods carry."""
    waiting: Map[str, Asking]
    """By the admission's uid."""
    answered: Map[str, Answered]
    due: str | None
    """The uid of the one that is to be answered now."""
    within: Map[ClusterName, Map[Subject, None]]
    """The templates of each cluster."""
    overdue: Map[ClusterName, Map[Subject, None]]
    """Templates with overdue rows, by the cluster that has to be heard of."""
    forgetting: Map[int, Forgetting]
    """A queue: every one is remembered equally long."""
    oldest: int
    next: int

    def row_of(self, pod: PodObserved) -> Row | None:
        """What is known of a pod's admission, where its template is kept."""
        above = behind(pod)
        template = None if above is None else self.templates.get(above)
        number = None if template is None else template.pods.get(pod.name)
        return None if template is None or number is None else template.rows[number]


NO_ADMISSIONS: Final = Admissions(
    Map(), Map(), Map(), Map(), None, Map(), Map(), Map(), oldest=0, next=0
)


class Whose(NamedTuple):
    """The workload behind a pod that is about to be created, and its template."""

    kind: str
    workload: Subject
    replicaset: Subject | None


def whose(objects: Objects, fact: AdmissionRequested) -> Whose | None:
    """Whose pod an admission is about; None where that is nobody whose pods are told apart.

    A ReplicaSet that is not known, or of which another life is, belongs to the Deployment whose name
    it has before the hash of the template.
    """
    within, owner = f"{fact.cluster}/{fact.namespace}", fact.owner
    match owner.kind:
        case "StatefulSet":
            return Whose("StatefulSet", Subject(f"{fact.namespace}/{owner.name}"), None)
        case "Deployment":
            replicaset = Subject(f"{within}/{owner.name}-{fact.template_hash}")
            return Whose("Deployment", Subject(f"{fact.namespace}/{owner.name}"), replicaset)
        case "ReplicaSet":
            replicaset = Subject(f"{within}/{owner.name}")
            above = _above(objects, replicaset, owner)
            name = None
            if above is not None:
                if above.owner is not None and above.owner.kind == "Deployment":
                    name = above.owner.name
            elif fact.template_hash and owner.name.endswith(f"-{fact.template_hash}"):
                name = owner.name.removesuffix(f"-{fact.template_hash}")
            if name is None:
                return None
            return Whose("Deployment", Subject(f"{fact.namespace}/{name}"), replicaset)
        case _:
            return None


def is_active(pod: PodObserved) -> bool:
    """Whether a pod counts as one of its ReplicaSet's."""
    return not pod.terminating and pod.phase not in {"Succeeded", "Failed"}


def _above(objects: Objects, replicaset: Subject, owner: Owner) -> ReplicaSetUpserted | None:
    fact = objects.fact("replicaset", replicaset)
    if not isinstance(fact, ReplicaSetUpserted) or owner.uid not in {None, fact.uid}:
        return None
    return fact
