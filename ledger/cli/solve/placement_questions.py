"""What can be asked about which nodes get how many instances."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Final, Literal, cast

from pydantic import BeforeValidator, Field, WithJsonSchema

from ledger.cli.counting import be, count
from ledger.cli.solve.asking import Op, Question, Ratio, Refused, Written
from ledger.cli.solve.meanings import WHY_IT_GOT_SO_MANY
from ledger.cli.solve.telling import table
from ledger.core.placement.answer import Counted, Placement, Shortage
from ledger.core.placement.nearest_level import Step, first_steps
from ledger.core.placement.place import place
from ledger.core.placement.question import INFINITE, Node, Policy, Request, Strategy, checked
from ledger.core.placement.reasons import Outcome, highest_usage, outcomes
from ledger.units import NodeName

NODES_TOLD: Final = 40
"""Nodes that a person wants to see in a table."""

STEPS_TOLD: Final = 20
"""Steps of a walk that a person wants to follow."""


def _part(given: object) -> object:
    """What a ratio may be, and also a decimal: measured usages are often floats, with exponents."""
    match given:
        case Decimal() if given.is_finite() and _is_short(given):
            return Fraction(given)
        case str() if _WRITTEN_WITH_EXPONENT.fullmatch(given):
            number = Decimal(given)
            return Fraction(number) if _is_short(number) else given
    return given


_WRITTEN_WITH_EXPONENT: Final = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?[eE][+-]?[0-9]{1,3}")


def _is_short(number: Decimal) -> bool:
    """Whether it has so few digits, before and after the point, as a ratio may have."""
    exponent = number.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= -40 and number.adjusted() < 40


Part = Annotated[
    Ratio,
    BeforeValidator(_part),
    WithJsonSchema({"type": ["number", "string", "array"]}),
]
"""What part of a node, exact: "0.25", 0.25, "1/4", [1, 4] or "2.5e-01"."""

STRATEGIES: Final = "AUTO, FILL, EACH, GLOBAL or DRAINED"


class NodeQuestion(Question):
    """A node: how many it holds, how many it could take, and how much it is used."""

    name: str
    capacity: int | Literal["infinite"]
    count: int = 0
    usage: Part = Fraction(0)
    rate: Part = Fraction(0)


class Deploy(Question):
    """``placement.deploy``.

    Strategy, count, limit and policy are judged by the core: which of several mistakes is the first
    is part of its rule.
    """

    strategy: Annotated[str, Field(description=STRATEGIES)]
    count: int
    nodes: list[NodeQuestion]
    nodes_limit: int = 0
    policy: Annotated[str, Field(description="nearest_level or after_usage")] = "nearest_level"


def answer_deploy(asked: Deploy) -> Written:
    """Who gets how many, why the others get none, and the figure that decided."""
    request = _request(asked)
    placed = _placed(request)
    answer: dict[str, Any] = {
        "deploy": dict(placed.deploy),
        "passed_over": {
            outcome.node.name: outcome.reason
            for outcome in outcomes(request, placed)
            if not outcome.added
        },
    }
    if placed.level is not None:
        answer |= {"level": placed.level, "last_round": placed.last_round}
    if request.strategy == "GLOBAL":
        answer |= {"policy": request.policy, "highest_usage": highest_usage(request, placed)}
    return answer


def explain_deploy(asked: Deploy) -> str:
    """The rule with its figures, then every node with its reason."""
    request = _request(asked)
    placed = _placed(request)
    every = outcomes(request, placed)
    lines = [*_rule_told(request, placed), "", *_nodes_told(request, every[:NODES_TOLD])]
    if len(every) > NODES_TOLD:
        lines.append(f"and {count(len(every) - NODES_TOLD, 'node')} more")
    if request.strategy == "GLOBAL" and request.policy == "nearest_level":
        lines += ["", "The first steps:"]
        steps = first_steps(checked(request), request.count, STEPS_TOLD)
        lines += [f"  {_step_told(step)}" for step in steps]
    return "\n".join(lines)


def _request(asked: Deploy) -> Request:
    return Request(
        strategy=cast("Strategy", asked.strategy),
        count=asked.count,
        nodes=[
            Node(
                name=NodeName(node.name),
                capacity=INFINITE if node.capacity == "infinite" else node.capacity,
                count=node.count,
                usage=node.usage,
                rate=node.rate,
            )
            for node in asked.nodes
        ],
        nodes_limit=asked.nodes_limit,
        policy=cast("Policy", asked.policy),
    )


def _placed(request: Request) -> Placement:
    answer = place(request)
    if isinstance(answer, Shortage):
        raise Refused(answer.code, _shortage_told(request, answer))
    return answer


_COUNTED: Final[Mapping[Counted, str]] = {
    "instances": "wanted {are} {instances}, and there is room for {found}",
    "instances_within_limit": (
        "wanted {are} {instances}, and with at most {limit} on a node there is room for {found}"
    ),
    "nodes": "wanted {are} {nodes}, and there {found_are} {found}",
    "able_nodes": "wanted {are} {nodes}, and {found} can serve",
}

UNABLE_TOLD: Final = 5
"""Nodes that cannot serve, in a refusal: enough to begin looking."""


def _shortage_told(request: Request, shortage: Shortage) -> str:
    if shortage.code == "already_filled":
        return f"nothing to do: {count(shortage.found, 'node')} {'holds' if shortage.found == 1 else 'hold'} {request.count} or more"
    told = _COUNTED[shortage.counted].format(
        found=shortage.found,
        found_are=be(shortage.found),
        are=be(shortage.wanted),
        instances=count(shortage.wanted, "instance"),
        nodes=count(shortage.wanted, "node"),
        limit=request.nodes_limit,
    )
    if shortage.unable:
        first = ", ".join(shortage.unable[:UNABLE_TOLD])
        rest = len(shortage.unable) - UNABLE_TOLD
        told += f"; not able: {first}{f' and {rest} more' if rest > 0 else ''}"
    return told


def _rule_told(request: Request, placed: Placement) -> list[str]:
    total = sum(placed.deploy.values())
    share = f"{len(placed.deploy)} of {count(len(request.nodes), 'node')}"
    told = [f"{request.strategy}: {count(total, 'instance')} on {share}."]
    limit = request.nodes_limit
    chosen = count(limit, "node") if limit else "all nodes"
    match request.strategy:
        case "AUTO":
            if limit:
                told.append(f"No node is to hold more than {limit}.")
            before = total - placed.last_round
            told.append(
                f"Every node is raised to {count(placed.level or 0, 'instance')} as far as it has "
                f"room, which takes {before}."
            )
            if placed.last_round:
                told.append(
                    f"What is left, {placed.last_round}, goes one each to nodes at that level, first "
                    "to the one that could hold most altogether, then by name."
                )
        case "FILL":
            told.append(
                f"Walking from the fullest node, {chosen} that can hold {request.count} are chosen "
                f"and topped up to {request.count}."
            )
        case "EACH":
            told.append(
                f"Walking from the largest capacity, {chosen} that can take {request.count} are "
                "chosen and get as many."
            )
        case "DRAINED":
            told.append("Walking from the smallest capacity, each node takes what it can.")
        case "GLOBAL" if request.policy == "after_usage":
            told.append(
                "Each instance goes where the usage is lowest with it; the highest that was needed "
                f"is {highest_usage(request, placed)}."
            )
        case "GLOBAL":
            told.append(
                "Each instance goes to the first node, by usage, that it brings closer to the next "
                "higher usage; if there is none, where the usage is lowest with it."
            )
    return told


def _nodes_told(request: Request, every: Sequence[Outcome]) -> list[str]:
    in_use = request.strategy in ("GLOBAL", "DRAINED")
    rows = [
        ("node", "holds", "capacity", *(("usage", "rate") if in_use else ()), "gets", "because")
    ]
    for outcome in every:
        node = outcome.node
        capacity = "infinite" if node.capacity == INFINITE else str(node.capacity)
        usages = (str(node.usage), str(node.rate)) if in_use else ()
        because = WHY_IT_GOT_SO_MANY[outcome.reason]
        rows.append((node.name, str(node.count), capacity, *usages, str(outcome.added), because))
    return table(rows)


def _step_told(step: Step) -> str:
    return f"{step.node}  +{step.instances}  used {step.usage}, {_rule_of(step)}"


def _rule_of(step: Step) -> str:
    match step.rule:
        case "closer":
            return f"one more is closer to {step.next_level}"
        case "lowest_after":
            return "nobody comes closer to anybody, and it stays lowest"
        case "same_rounds":
            return "the rounds so far are repeated"


OPS: Final[tuple[Op[Any], ...]] = (
    Op(
        name="placement.deploy",
        about="which nodes get how many instances: AUTO, FILL, EACH, GLOBAL or DRAINED",
        question=Deploy,
        answer=answer_deploy,
        explain=explain_deploy,
    ),
)
