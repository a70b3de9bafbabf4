"""Who sits where while instances are moved in thought: proposals are planned and looked at so.

A move gives the old place back first, so that what it frees counts for it and for those after it, of
every workload in the cluster. Instances that are not as their workload wants them by now, because an
edit of it is still refused, are not moved: where they go is for that edit to say. Where nodes are told
apart by capacity class, the lowest numbers go to on-demand nodes alone, and the others to spot nodes
or to nodes like the one that they are on.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from ledger.core.placement.answer import Placement
from ledger.core.placement.question import Policy, Request
from ledger.decisions.asked_about import asked_about
from ledger.decisions.deployment_turn import split
from ledger.decisions.nodes import Nodes, nodes_of
from ledger.facts.deployment import Instance, Terms
from ledger.facts.workload import DeploySpec, WorkloadUpserted
from ledger.reducers.instances import Deployed, on_demand_below, workload_of
from ledger.reducers.world import World
from ledger.units import Bytes, ClusterName, NodeName, Subject

Hindrance = Literal["not_movable", "target_unavailable", "unsuitable", "no_room"]
"""What is in the way of a move: the instance is not there, or is to change anyway; nothing new goes to
the node; the workload does not want it there; it has too little left."""


@dataclass(slots=True)
class Seats:
    """The instances of one workload in a cluster, on nodes as they are by now."""

    held: Deployed
    workload: WorkloadUpserted
    deploy: DeploySpec
    nodes: Nodes
    terms: Terms
    target: int | None
    """How many of the lowest numbers belong on on-demand nodes; None: nodes are not told apart."""
    instances: dict[int, Instance]
    counts: Counter[NodeName]
    below: int
    """All numbers below it are those."""

    def movable(self, number: int) -> bool:
        """Whether an instance is there, and as it is wanted."""
        one = self.instances.get(number)
        return one is not None and one.terms == self.terms

    def misplaced(self, number: int) -> bool:
        """Whether an instance belongs on an on-demand node and is on another."""
        if self.target is None or number >= self.below:
            return False
        node = self.instances[number].node
        return node not in self.nodes.facts or self.nodes.class_of(node) != "od"

    def place_for_one(self, world: World, among: str) -> NodeName | None:
        """Where the workload's strategy puts one more instance; None where there is no room."""
        deploy, nodes = self.deploy, self.nodes
        strategy, limit = deploy.strategy, deploy.nodes_limit
        if nodes.schedulable.isdisjoint(nodes.pool(among)):
            return None
        policy: Policy = deploy.policy or world.policy.placement.global_policy
        found = nodes.rules.place(
            Request(
                strategy=strategy,
                count=1,
                nodes=nodes.as_asked(
                    asked_about(nodes, strategy, policy, among, 1, self.counts, limit=limit),
                    self.counts,
                    loaded=strategy in {"GLOBAL", "DRAINED"},
                ),
                nodes_limit=limit,
                policy=policy,
            )
        )
        if not isinstance(found, Placement):
            return None
        (into,) = found.deploy
        return into

    def hindrance(self, number: int, out: NodeName, into: NodeName) -> Hindrance | None:
        """Why an instance cannot go from one node to another; None if it can."""
        nodes = self.nodes
        if not self.movable(number) or self.instances[number].node != out:
            return "not_movable"
        if nodes.passed_over.get(into) == "selector":
            return "unsuitable"
        if into not in nodes.schedulable:
            return "target_unavailable"
        if self.target is not None and nodes.class_of(into) not in self._classes(number, out):
            return "unsuitable"
        full = self.deploy.strategy == "AUTO" and 0 < self.deploy.nodes_limit <= self.counts[into]
        return "no_room" if full or nodes.capacity(into) < 1 else None

    def _classes(self, number: int, out: NodeName) -> set[str | None]:
        if number < self.below:
            return {"od"}
        return {"spot", self.nodes.class_of(out) if out in self.nodes.facts else None}


@dataclass(slots=True)
class Floor:
    """All that are moved, and what it changes for the others of their cluster."""

    world: World
    seats: dict[Subject, Seats | None] = field(default_factory=dict)
    moved: dict[ClusterName, list[tuple[Instance, Instance]]] = field(default_factory=dict)

    def of(self, subject: Subject) -> Seats | None:
        """The seats of a subject; None where there are none that could be moved."""
        if subject not in self.seats:
            found = self.seats[subject] = _seats(self.world, subject)
            if found is not None:
                for before, after in self.moved.get(found.held.cluster, []):
                    found.nodes.give_back(before)
                    found.nodes.take(after)
        return self.seats[subject]

    def move(self, seats: Seats, number: int, into: NodeName) -> None:
        """An instance leaves its node and is on another."""
        before = seats.instances[number]
        cluster = seats.held.cluster
        alike = [
            other
            for other in self.seats.values()
            if other is not None and other.held.cluster == cluster
        ]
        for other in alike:
            other.nodes.give_back(before)
        (plan,) = seats.nodes.plans(into, 1)
        after = Instance(number, into, seats.terms, *plan)
        for other in alike:
            other.nodes.take(after)
        seats.instances[number] = after
        seats.counts[before.node] -= 1
        seats.counts[into] += 1
        self.moved.setdefault(cluster, []).append((before, after))


def _seats(world: World, subject: Subject) -> Seats | None:
    held = world.deployments.of.get(subject)
    workload = world.workload(workload_of(subject))
    if held is None or held.over or not held.share or workload is None:
        return None
    deploy = workload.deploy
    assert deploy is not None, f"{subject} has a share and is not to be deployed"
    nodes = nodes_of(world, held.cluster, workload, deploy)
    if nodes.one is None:
        return None
    target = split(world, workload, deploy, held.share, nodes)
    return Seats(
        held=held,
        workload=workload,
        deploy=deploy,
        nodes=nodes,
        terms=Terms(workload.request, Bytes(nodes.one.storage), deploy.node_selector),
        target=target,
        instances={one.number: one for one in held.instances},
        counts=Counter(one.node for one in held.instances),
        below=on_demand_below(held, target or 0),
    )
