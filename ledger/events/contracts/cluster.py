"""The cluster family: member clusters, their nodes, and full lists of what a cluster holds."""

# ruff: noqa: D102 - what fact is for is said once, in EventData

from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ledger.events.contract import (
    Contract,
    Family,
    Removal,
    Upsert,
)
from ledger.events.contract_values import (
    MOST_ENTRIES,
    MOST_KEYS,
    Cluster,
    Cpu,
    Labels,
    Moment,
    Node,
    ObjectUid,
    Size,
    Text,
    Whole,
    Word,
    sorted_pairs,
)
from ledger.events.sharing import shared
from ledger.facts import cluster as facts
from ledger.units import (
    Bytes,
    EventType,
    Subject,
)

Pieces = Annotated[dict[Word, Whole], Field(max_length=MOST_ENTRIES)]
Groups = Annotated[dict[Word, Word], Field(max_length=MOST_ENTRIES)]
Sizes = Annotated[dict[Word, Size], Field(max_length=MOST_ENTRIES)]


class ClusterUpserted(Upsert):
    """A member cluster joined, or changed."""

    event_type: ClassVar = EventType("ledger.cluster.cluster.upserted.v1")
    family: ClassVar[Family] = "cluster"
    key_fields: ClassVar[tuple[str, ...]] = ("name",)

    name: Cluster
    """The cluster."""
    region: Text = ""
    """Where it is; spread constraints group by it."""
    zone: Text = ""
    """Where in the region it is."""
    labels: Labels = Field(default_factory=dict)
    """What a workload's `cluster_selector` looks at."""
    ready: bool = True
    """Whether it can take work."""

    def fact(self) -> facts.ClusterUpserted:
        return facts.ClusterUpserted(
            name=self.name,
            uid=self.settled_uid(),
            revision=self.revision,
            region=self.region,
            zone=self.zone,
            labels=sorted_pairs(self.labels),
            ready=self.ready,
        )


class ClusterRemoved(Removal):
    """A member cluster is gone, with its nodes, disks, pods and ReplicaSets."""

    event_type: ClassVar = EventType("ledger.cluster.cluster.removed.v1")
    family: ClassVar[Family] = "cluster"
    key_fields: ClassVar[tuple[str, ...]] = ("name",)

    name: Cluster
    """The cluster."""

    def fact(self) -> facts.ClusterRemoved:
        return facts.ClusterRemoved(self.name, self.uid, self.revision)


class NodeUpserted(Upsert):
    """A node joined, or changed. Its cpu is told by `cores` or by `cpu`, never by both."""

    event_type: ClassVar = EventType("ledger.cluster.node.upserted.v1")
    family: ClassVar[Family] = "cluster"
    key_fields: ClassVar[tuple[str, ...]] = ("cluster", "name")

    cluster: Cluster
    """The cluster it belongs to."""
    name: Node
    """The node."""
    region: Text = ""
    """Where it is."""
    zone: Text = ""
    """Where in the region it is."""
    labels: Labels = Field(default_factory=dict)
    """What node selectors look at; its capacity class is one of them."""
    ready: bool = True
    """Whether it runs what is placed on it."""
    schedulable: bool = True
    """False is cordoned: what is there stays, nothing new comes."""
    cores: Pieces = Field(default_factory=dict)
    """Pieces that each core may give out, by the core's id."""
    cpu: Cpu | None = None
    """All its cpu, where the cores are not told."""
    share_base: Annotated[Whole, Field(ge=1)] = 100
    """How many pieces are one whole core."""
    memory: Size = Bytes(0)
    """Bytes it has."""
    numa: Groups = Field(default_factory=dict)
    """The memory group of each core."""
    numa_memory: Sizes = Field(default_factory=dict)
    """Bytes that each memory group has."""
    volumes: Sizes = Field(default_factory=dict)
    """Bytes that each device has."""
    storage: Size = Bytes(0)
    """Bytes of ephemeral storage it has."""
    pods: Whole | None = None
    """The most pods it takes; absent is no limit."""

    @model_validator(mode="after")
    def _cpu_is_told_once(self) -> Self:
        if self.cores and self.cpu is not None:
            raise PydanticCustomError("wrong_field", "cores and cpu both tell its cpu")
        return self

    def fact(self) -> facts.NodeUpserted:
        return facts.NodeUpserted(
            cluster=shared(self.cluster),
            name=shared(self.name),
            uid=self.settled_uid(),
            revision=self.revision,
            region=shared(self.region),
            zone=shared(self.zone),
            labels=sorted_pairs(self.labels),
            ready=self.ready,
            schedulable=self.schedulable,
            cores=sorted_pairs(self.cores),
            cpu=self.cpu,
            share_base=self.share_base,
            memory=self.memory,
            numa=sorted_pairs(self.numa),
            numa_memory=sorted_pairs(self.numa_memory),
            volumes=sorted_pairs(self.volumes),
            storage=self.storage,
            pods=self.pods,
        )


class NodeRemoved(Removal):
    """A node is gone."""

    event_type: ClassVar = EventType("ledger.cluster.node.removed.v1")
    family: ClassVar[Family] = "cluster"
    key_fields: ClassVar[tuple[str, ...]] = ("cluster", "name")

    cluster: Cluster
    """The cluster it belonged to."""
    name: Node
    """The node."""

    def fact(self) -> facts.NodeRemoved:
        return facts.NodeRemoved(self.cluster, self.name, self.uid, self.revision)


class NodeReclaiming(Contract):
    """A spot node is about to be taken away."""

    event_type: ClassVar = EventType("ledger.cluster.node.reclaiming.v1")
    family: ClassVar[Family] = "cluster"
    key_fields: ClassVar[tuple[str, ...]] = ("cluster", "name")

    cluster: Cluster
    """The cluster it belongs to."""
    name: Node
    """The node."""
    uid: ObjectUid | None = None
    """Which node of that name; absent, the one in force."""
    notice_seconds: Whole = 0
    """How long it still has, as its owner announced."""

    def fact(self) -> facts.NodeReclaiming:
        return facts.NodeReclaiming(self.cluster, self.name, self.uid, self.notice_seconds)


class InventoryListed(Contract):
    """A full list of one noun as an agent saw it in its cluster: what is not listed is gone."""

    event_type: ClassVar = EventType("ledger.cluster.inventory.listed.v1")
    family: ClassVar[Family] = "cluster"
    key_fields: ClassVar[tuple[str, ...]] = ("cluster",)

    cluster: Cluster
    """The cluster that was listed."""
    noun: facts.InventoryNoun
    """What was listed."""
    keys: Annotated[list[Text], Field(max_length=MOST_KEYS)]
    """Everything there is, by the subject its own upserts carry."""
    through: Moment | None = None
    """Up to which moment the list covers the cluster's reports; RFC 3339, or microseconds. Send when the
    listing began, or earlier. It is held against the moment at which the ledger took each report, by the
    time of the fleet: a clock that is late leaves what is gone to a later list, one that is ahead takes
    away what was reported since. Without it the list covers whatever was taken before it."""

    @model_validator(mode="after")
    def _keys_are_of_this_cluster(self) -> Self:
        """A list of bare names would silently say that everything is gone."""
        start = f"{self.cluster}/"
        for key in self.keys:
            if not key.startswith(start):
                raise PydanticCustomError(
                    "wrong_field",
                    "key {key} does not begin with {start}",
                    {"key": key[:60], "start": start},
                )
        return self

    def fact(self) -> facts.InventoryListed:
        return facts.InventoryListed(
            cluster=self.cluster,
            noun=self.noun,
            keys=tuple(Subject(key) for key in sorted(set(self.keys))),
            through=self.through,
        )
