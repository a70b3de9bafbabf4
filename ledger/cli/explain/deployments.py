"""A deployment told: what each instance takes, the parts of the turn, and why nodes got nothing.

What nodes had free then is not in the record. The reasons of those that lost are, and ``node_books``
says what every node has now.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from ledger.cli.counting import count
from ledger.cli.explain import refusals, words
from ledger.cli.explain.derivation import Derivation
from ledger.cli.explain.sections import LOSERS_TOLD, Sections, losers, rows
from ledger.facts.deployment import Deployment, Part, Terms, Why

PARTS: Final[dict[Part, str]] = {
    "fresh": "all anew",
    "edit": "changed ones",
    "lost": "lost ones",
    "reclaiming": "leaving ones",
    "growth": "new ones",
}

AMONG: Final[dict[str, str]] = {
    "all": "all",
    "od": "on demand",
    "spot": "spot",
}

WHYS: Final[dict[Why, str]] = {
    "lost": "its node was lost",
    "reclaiming": "its node is about to be taken away",
    "no_room": "its new request does not fit where it was",
    "selector": "its node does not match the new selector",
    "fresh": "somebody wanted all of them anew",
    "proposal": "an approved proposal moved it",
}

SO_MANY_EACH: Final[Mapping[str, str]] = {
    "FILL": "FILL brings each node that it chooses to its count, whatever the share is",
    "EACH": "EACH puts its count on each node that it chooses, whatever the share is",
}
"""Rules that give a number to each node, whatever the share."""

KEEP: Final = "keep"
"""The branch of an answer that is the last one."""

NUMBERS_TOLD: Final = 16
"""Instances that a line names; a person counts the others."""


def tell(of: Derivation, deployment: Deployment, sections: Sections) -> None:
    """Everything a record says of a turn."""
    sections.asked += _asked(of, deployment)
    sections.known += _known(of, deployment)
    sections.last_result += _last(of)
    sections.steps += _steps(of, deployment)
    sections.draw.append("no lot: where all else is equal, the node's name decides")
    sections.losers += losers(deployment.losers, words_of=LOSERS_TOLD)
    sections.changed += _changed(deployment)


def _asked(of: Derivation, deployment: Deployment) -> list[str]:
    workload = f"{deployment.namespace}/{deployment.workload}"
    if not deployment.strategy:
        return [f"nothing any more: {workload} is not to be deployed on {deployment.cluster}"]
    lines = [
        (
            f"{count(deployment.share, 'instance')} of {workload} on nodes of {deployment.cluster} by"
            f" {deployment.strategy} (uid {deployment.uid})"
        )
    ]
    if deployment.strategy in SO_MANY_EACH:
        lines = [
            (
                f"{workload} on nodes of {deployment.cluster} by {deployment.strategy}, for a share of"
                f" {count(deployment.share, 'replica')} (uid {deployment.uid})"
            ),
            SO_MANY_EACH[deployment.strategy],
        ]
    deploy = of.wished.get("deploy")
    if of.wish is not None and isinstance(deploy, dict):
        told = words.wish(deploy, (name for name in sorted(deploy) if deploy[name]))
        lines.append(f"told by event {of.wish.position}: {told}")
    terms = Counter(one.terms for one in deployment.instances)
    many = len(terms) > 1
    lines += [
        f"each takes {terms_told(one)}{f' ({held} of them)' if many else ''}"
        for one, held in terms.items()
    ]
    if deployment.target is not None:
        lines.append(f"the lowest {deployment.target} of the numbers belong on on-demand nodes")
    if deployment.ordered:
        lines.append("an order for so many on each node is open")
    return lines


def terms_told(terms: Terms) -> str:
    """What an instance was confirmed under."""
    request = terms.request
    told = [f"cpu {words.cores(request.cpu)}{', bound to cores' if request.cpu_bind else ''}"]
    told.append(f"memory {words.bytes_(request.memory)}")
    if terms.storage:
        told.append(f"storage {words.bytes_(terms.storage)}")
    if request.volumes:
        told.append(f"volumes {' '.join(request.volumes)}")
    if terms.selector:
        told.append(f"nodes with {' '.join(f'{name}={value}' for name, value in terms.selector)}")
    return ", ".join(told)


def _known(of: Derivation, deployment: Deployment) -> list[str]:
    is_kept = of.decision.branch == KEEP
    if not deployment.asked:
        if is_kept:
            return ["no node was looked at: what was there was kept"]
        return ["nothing was placed, so no node was looked at"]
    if is_kept and all(one.answer == "already_filled" for one in deployment.asked):
        return ["what was there was kept: each node that the rule chooses has its count already"]
    lost = sum(many for _, many in deployment.losers.counts)
    got = sum(1 for change in deployment.changes if change.added)
    nodes = count(got + lost, "node")
    were = "was" if got + lost == 1 else "were"
    looked_at = f"{nodes} {were} looked at for what was placed last: {got} got some, {lost} none"
    free = "what they had free is under the digest only; see node_books for what they have now"
    if not got + lost:
        looked_at = "no node got any; the record does not say which ones were looked at"
        free = "what nodes had free is under the digest only; see node_books for what they have now"
    return [looked_at, free]


def _last(of: Derivation) -> list[str]:
    if of.last is None:
        return ["none"]
    last = of.last.decision
    outcome = last.outcome
    assert isinstance(outcome, Deployment), "the last result of a deployment is one"
    wanted = (
        f"by {outcome.strategy}"
        if outcome.strategy in SO_MANY_EACH
        else f"for a share of {outcome.share}"
    )
    many = count(len(outcome.instances), "instance")
    lines = [f"#{last.number} at position {last.position}: {many} {wanted}"]
    return lines + _on_nodes(outcome)


def _on_nodes(deployment: Deployment) -> list[str]:
    there = Counter(instance.node for instance in deployment.instances)
    body = [[node, str(there[node])] for node in sorted(there)]
    return rows(["node", "instances"], body, numbers=range(1, 2)) if body else []


def _steps(of: Derivation, deployment: Deployment) -> list[str]:
    lines: list[str] = []
    if deployment.given_up:
        lines.append(f"given up: {_numbered(deployment.given_up)}")
    body = [
        [
            PARTS[one.part],
            one.strategy,
            str(one.wanted),
            str(one.limit) if one.limit else "none",
            AMONG.get(one.among, one.among),
            one.answer,
        ]
        for one in deployment.asked
    ]
    if body:
        head = ["which", "rule", "wanted", "limit", "nodes", "answer"]
        lines += rows(head, body, numbers=range(2, 4))
    for move in deployment.moves[:NUMBERS_TOLD]:
        lines.append(f"instance {move.number} from {move.out} to {move.into}: {WHYS[move.why]}")
    if len(deployment.moves) > NUMBERS_TOLD:
        lines.append(f"and {len(deployment.moves) - NUMBERS_TOLD} more moved")
    if deployment.waiting:
        told = _numbered((one.number, one.node) for one in deployment.waiting)
        lines.append(f"lost and still without a place: {told}")
    if not deployment.complete:
        lines.append(refusals.not_all(of))
    return _changed_in_place(of, deployment) + lines or [
        f"nothing was placed ({of.decision.branch})"
    ]


def _changed_in_place(of: Derivation, deployment: Deployment) -> list[str]:
    """What those that stay had been confirmed under, where that is changed now."""
    last = None if of.last is None else of.last.decision.outcome
    if not isinstance(last, Deployment):
        return []
    before = {one.number: one for one in last.instances}
    changed = Counter(
        before[one.number].terms
        for one in deployment.instances
        if one.number in before
        and before[one.number].node == one.node
        and before[one.number].terms != one.terms
    )
    return [
        f"changed where they are: {count(many, 'instance')}, each took {terms_told(terms)}"
        for terms, many in changed.items()
    ]


def _numbered(numbers: Iterable[tuple[int, str]]) -> str:
    there: dict[str, list[int]] = {}
    for number, node in numbers:
        there.setdefault(node, []).append(number)
    return "; ".join(
        f"number{'' if len(there[node]) == 1 else 's'} {_some(there[node])} of {node}"
        for node in sorted(there)
    )


def _some(numbers: list[int]) -> str:
    named = ", ".join(map(str, sorted(numbers)[:NUMBERS_TOLD]))
    rest = len(numbers) - NUMBERS_TOLD
    return f"{named} and {rest} more" if rest > 0 else named


def _changed(deployment: Deployment) -> list[str]:
    there = Counter(instance.node for instance in deployment.instances)
    body = [
        [
            change.node,
            str(there[change.node] - change.added + change.removed),
            str(there[change.node]),
            f"+{change.added}",
            f"-{change.removed}",
        ]
        for change in deployment.changes
    ]
    if not body:
        return ["nothing"]
    return rows(["node", "before", "now", "came", "left"], body, numbers=range(1, 5))
