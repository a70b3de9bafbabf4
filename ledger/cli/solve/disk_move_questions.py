"""What lies well and should still move: auto-balance for one volume, a plan for many."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import Field, model_validator

from ledger.cli.counting import count
from ledger.cli.solve.asking import Count, Op, Written
from ledger.cli.solve.disk_choice_questions import spoken
from ledger.cli.solve.disk_filter_questions import ReplicaEntry
from ledger.cli.solve.disk_scheduling_questions import InFleet, VolumeEntry
from ledger.cli.solve.telling import table, yes
from ledger.core.disk import affinity, auto_balance, rebalance, scheduling
from ledger.units import NodeName


class BalancedVolume(VolumeEntry):
    """A volume that auto-balance looks at."""

    number_of_replicas: Count
    healthy: bool = True
    engine_node: str = ""


class AutoBalancing(InFleet):
    """``disk.auto_balance``."""

    volume: BalancedVolume
    replicas: list[ReplicaEntry] = Field(default=[])


class StoredReplica(ReplicaEntry):
    """A replica of one of the volumes."""

    volume: str


class Rebalancing(InFleet):
    """``disk.rebalance``."""

    volumes: list[VolumeEntry]
    replicas: list[StoredReplica] = Field(default=[])
    max_moves: Count = 1
    max_bytes: Count | None = None
    measure: rebalance.Measure = "balance"

    @model_validator(mode="after")
    def _each_volume_once(self) -> "Rebalancing":
        if len({volume.name for volume in self.volumes}) < len(self.volumes):
            raise ValueError("volumes: the same name twice")
        return self


def answer_auto_balance(asked: AutoBalancing) -> Written:
    """What auto-balance wants, and which copy it would take away."""
    situation, replicas, spread = _balancing_question(asked)
    step = auto_balance.next_step(situation, replicas, spread)
    spare = auto_balance.surplus(situation, replicas, spread)
    answer: dict[str, Any] = {
        "step": step.code,
        "count": 0,
        "remove": spare.replica,
        "considered": [
            {
                "replica": one.replica,
                "evicting": one.evicting,
                "in_zone": one.in_zone,
                "on_node": one.on_node,
                "usable": one.usable,
                "wanted_again": one.wanted_again,
            }
            for one in spare.considered
        ],
    }
    match step:
        case auto_balance.Add():
            return {**answer, "count": step.count, "groups": dict(step.groups)}
        case auto_balance.Relieve():
            return {
                **answer,
                "count": 1,
                "replica": step.replica,
                "node": step.source.node,
                "from": step.source.name,
                "to": step.target.name,
            }
        case auto_balance.Still():
            return answer


WHAT_A_STEP_MEANS: Final[Mapping[str, str]] = {
    "disabled": "auto-balance is switched off",
    "not_healthy": "the volume is not healthy, and nothing is moved before it is",
    "balanced": "nothing is to be moved",
    "zone": "zones without a replica, although there are enough replicas",
    "node": "nodes without a replica, although there are enough replicas",
    "node_gap": "a node has two or more replicas more than another",
    "zone_gap": "a zone has two or more replicas more than another",
    "disk_pressure": "a replica lies on a disk under pressure",
}


def explain_auto_balance(asked: AutoBalancing) -> str:
    """The step, the counts behind it, and the copy that would go."""
    answer = answer_auto_balance(asked)
    lines = [f"{answer['step']}: {WHAT_A_STEP_MEANS[answer['step']]}."]
    if "groups" in answer:
        lines.append(f"Replicas: {_listed(answer['groups'])}; to be moved: {answer['count']}.")
    if "from" in answer:
        lines.append(
            f"{answer['replica']} goes from {answer['from']} to {answer['to']} "
            f"on node {answer['node']}."
        )
    if answer["considered"]:
        rows = [["copy", "in its zone", "on its node", "usable on its disk", "wanted again"]]
        for one in answer["considered"]:
            counts = [str(one[key]) for key in ("in_zone", "on_node", "usable")]
            rows.append([one["replica"], *counts, yes(one["wanted_again"])])
        lines += ["", f"To be taken away: {answer['remove'] or 'none'}.", *table(rows)]
    return "\n".join(lines)


def answer_rebalance(asked: Rebalancing) -> Written:
    """The moves, with the score before and after each."""
    plan = _planned(asked)
    return {
        "measure": plan.measure,
        "score_before": spoken(plan.before),
        "score_after": spoken(plan.after),
        "moves": [
            {
                "volume": move.volume,
                "replica": move.replica,
                "from_node": move.source[0],
                "from_disk": move.source[1],
                "to_node": move.target[0],
                "to_disk": move.target[1],
                "bytes": move.size,
                "score": move.score,
            }
            for move in plan.moves
        ],
        "bytes": plan.size,
        "ended": plan.ended,
    }


WHY_A_PLAN_ENDS: Final[Mapping[str, str]] = {
    "undefined": "no usable bytes, hence no score",
    "no_better_move": "no move would lower the score",
    "max_moves": "as many moves as were allowed",
    "max_bytes": "every move that would lower the score is too large for what is left of the bytes",
}


def explain_rebalance(asked: Rebalancing) -> str:
    """The moves in order."""
    plan = _planned(asked)
    rows = [["replica", "from", "to", "bytes", "score then"]]
    for move in plan.moves:
        places = ["/".join(move.source), "/".join(move.target)]
        name = f"{move.volume}/{move.replica}"
        rows.append([name, *places, str(move.size), str(move.score)])
    return "\n".join(
        [
            (
                f"Score by {plan.measure}: {spoken(plan.before)} before, {spoken(plan.after)} after "
                f"{count(len(plan.moves), 'move')} of {count(plan.size, 'byte')}."
            ),
            f"It ends here: {WHY_A_PLAN_ENDS[plan.ended]}.",
            *(["", *table(rows)] if plan.moves else []),
        ]
    )


def _balancing_question(
    asked: AutoBalancing,
) -> tuple[scheduling.Situation, list[affinity.Replica], auto_balance.Spread]:
    situation = scheduling.Situation(
        volume=asked.volume.volume(), nodes=asked.fleet(), rules=asked.rules(asked.volume)
    )
    spread = auto_balance.Spread(
        wanted=asked.volume.number_of_replicas,
        healthy=asked.volume.healthy,
        engine_node=NodeName(asked.volume.engine_node),
    )
    return situation, [entry.replica() for entry in asked.replicas], spread


def _planned(asked: Rebalancing) -> rebalance.Plan:
    stock = rebalance.Stock(
        nodes=asked.fleet(),
        volumes={volume.name: volume.volume() for volume in asked.volumes},
        stored=[rebalance.Stored(one.volume, one.replica()) for one in asked.replicas],
        rules=asked.rules(VolumeEntry(size=0)),
    )
    return rebalance.plan(
        stock, max_moves=asked.max_moves, max_bytes=asked.max_bytes, measure=asked.measure
    )


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name or '(none)'} {count}" for name, count in counts.items())


OPS: Final[tuple[Op[Any], ...]] = (
    Op(
        "disk.auto_balance",
        "whether a volume should move a replica, and which copy then goes",
        AutoBalancing,
        answer_auto_balance,
        explain_auto_balance,
    ),
    Op(
        "disk.rebalance",
        "a bounded list of moves, each of which lowers the score",
        Rebalancing,
        answer_rebalance,
        explain_rebalance,
    ),
)
