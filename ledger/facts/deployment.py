"""A cluster's share of a workload on its nodes: which instance is where, and why it is there.

The result is complete: every instance that is in force after the decision, with what it was
confirmed under and what it is bound to. Whoever wants to know what a subject holds reads its last
deployment decision and takes off what was lost since. Instances that are alike are spelled
together: by node and terms, with their numbers.
"""

from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal, NamedTuple

from ledger.facts.canonical import Plain
from ledger.facts.cluster import Labels
from ledger.facts.reason import (
    Cause,
    Losers,
    carried_out,
    losers_plain,
    losers_read,
    pairs,
)
from ledger.facts.workload import Request
from ledger.units import Bytes, ClusterName, CpuMilli, DecisionNumber, NodeName, Uid

Why = Literal["lost", "reclaiming", "no_room", "selector", "fresh", "proposal"]
"""Why an instance had to move: its node was lost or is about to be taken away; its new request does
not fit where it was; the node does not match the new selector; somebody wanted all of them anew; an approved
proposal moved it."""

Part = Literal["fresh", "edit", "lost", "reclaiming", "growth"]
"""The parts of a turn, in their order."""


class Terms(NamedTuple):
    """What an instance was confirmed under; many share one."""

    request: Request
    storage: Bytes
    """What it takes of the node's storage: the sizes of its volumes included."""
    selector: Labels


class Volume(NamedTuple):
    """Where one volume of an instance lies, and how much of the device it has."""

    text: str
    device: str
    size: Bytes


class Instance(NamedTuple):
    """One instance in force. A tuple, because a fleet has a million of them."""

    number: int
    node: NodeName
    terms: Terms
    cores: tuple[tuple[str, int], ...] = ()
    """The pieces of each core that it is bound to, by name."""
    group: str = ""
    """The memory group that its cores are of; empty if they are of none, or of several."""
    volumes: tuple[Volume, ...] = ()


class Waiting(NamedTuple):
    """A lost instance that has no new place yet, and the node it was on."""

    number: int
    node: NodeName


class Move(NamedTuple):
    """An instance that is on another node than before."""

    number: int
    out: NodeName
    into: NodeName
    why: Why


class NodeChange(NamedTuple):
    """A node with how many instances came to it and left it."""

    node: NodeName
    added: int
    removed: int


class Asked(NamedTuple):
    """A question that was put to the core, and what came of it."""

    part: Part
    strategy: str
    wanted: int
    limit: int
    among: str
    """Over which nodes: of one capacity class, or of all."""
    answer: str
    """``placed``, or the code of what is short."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """What a workload has on the nodes of one cluster."""

    namespace: str
    workload: str
    uid: Uid
    cluster: ClusterName
    share: int
    strategy: str
    """Empty where the workload is not to be deployed any more."""
    instances: tuple[Instance, ...]
    """All that are in force, by number."""
    waiting: tuple[Waiting, ...]
    """Lost ones that still have no place, by number."""
    ordered: bool
    """Whether an order for so many on each node is still open."""
    complete: bool
    """Whether nothing that is wanted was refused."""
    target: int | None
    """How many of the lowest numbers belong on on-demand nodes; None: the nodes are not split."""
    changes: tuple[NodeChange, ...]
    """Against the decision before it, by name of the node; what was lost meanwhile was removed."""
    moves: tuple[Move, ...]
    given_up: tuple[tuple[int, NodeName], ...]
    """Numbers that were given up, and where they were."""
    asked: tuple[Asked, ...]
    losers: Losers
    """Nodes that got nothing of what was placed last, and why."""
    because: tuple[Cause, ...]
    proposal: DecisionNumber | None = None
    """The approved proposal that it carries out."""

    kind: Literal["deployment"] = "deployment"


def result(deployment: Deployment) -> Plain:
    """The answer."""
    terms = list(dict.fromkeys(instance.terms for instance in deployment.instances))
    index = {each: place for place, each in enumerate(terms)}
    in_order = sorted(
        (instance.node, index[instance.terms], instance.number) for instance in deployment.instances
    )
    return {
        "namespace": deployment.namespace,
        "workload": deployment.workload,
        "uid": deployment.uid,
        "cluster": deployment.cluster,
        "share": deployment.share,
        "terms": [terms_plain(each) for each in terms],
        "instances": [
            [node, place, [number for _, _, number in alike]]
            for (node, place), alike in groupby(in_order, key=lambda one: one[:2])
        ],
        "bindings": [
            [instance.number, instance.cores, instance.group, instance.volumes]
            for instance in deployment.instances
            if instance.cores or instance.volumes
        ],
        "waiting": [tuple(one) for one in deployment.waiting],
        "ordered": deployment.ordered,
        "complete": deployment.complete,
    }


def reasons(deployment: Deployment) -> Plain:
    """The numbers behind it."""
    return {
        "because": deployment.because,
        "strategy": deployment.strategy,
        "target": deployment.target,
        "changes": [tuple(change) for change in deployment.changes],
        "moves": [tuple(move) for move in deployment.moves],
        "given_up": deployment.given_up,
        "asked": [one._asdict() for one in deployment.asked],
        "losers": losers_plain(deployment.losers),
        **carried_out(deployment.proposal),
    }


def read(answer: dict[str, Any], why: dict[str, Any]) -> Deployment:
    """What ``result`` and ``reasons`` spelled."""
    terms = [_terms(plain) for plain in answer["terms"]]
    bound = {
        number: (cores, group, volumes) for number, cores, group, volumes in answer["bindings"]
    }
    instances = []
    for node, place, numbers in answer["instances"]:
        for number in numbers:
            cores, group, volumes = bound.get(number, ([], "", []))
            instances.append(
                Instance(
                    number,
                    node,
                    terms[place],
                    pairs(cores),
                    group,
                    tuple(Volume(*volume) for volume in volumes),
                )
            )
    return Deployment(
        namespace=answer["namespace"],
        workload=answer["workload"],
        uid=answer["uid"],
        cluster=answer["cluster"],
        share=answer["share"],
        strategy=why["strategy"],
        # Numbers are never the same, so nothing behind them is compared.
        instances=tuple(sorted(instances)),
        waiting=tuple(Waiting(*one) for one in answer["waiting"]),
        ordered=answer["ordered"],
        complete=answer["complete"],
        target=why["target"],
        changes=tuple(NodeChange(*one) for one in why["changes"]),
        moves=tuple(Move(*one) for one in why["moves"]),
        given_up=pairs(why["given_up"]),
        asked=tuple(Asked(**one) for one in why["asked"]),
        losers=losers_read(why["losers"]),
        because=tuple(why["because"]),
        proposal=why.get("proposal"),
    )


def terms_plain(terms: Terms) -> Plain:
    """Terms as records spell them."""
    request = terms.request
    return {
        "cpu": request.cpu,
        "cpu_bind": request.cpu_bind,
        "memory": request.memory,
        "request_storage": request.storage,
        "volumes": request.volumes,
        "storage": terms.storage,
        "selector": terms.selector,
    }


def _terms(plain: dict[str, Any]) -> Terms:
    return Terms(
        Request(
            cpu=CpuMilli(plain["cpu"]),
            cpu_bind=plain["cpu_bind"],
            memory=Bytes(plain["memory"]),
            storage=Bytes(plain["request_storage"]),
            volumes=tuple(plain["volumes"]),
        ),
        Bytes(plain["storage"]),
        pairs(plain["selector"]),
    )
