"""Fair shares: sharing out among many queues, and a round as large as the ones Kueue is measured by."""

from collections.abc import Callable
from fractions import Fraction
from typing import Final

from ledger.cli.bench.core_case import Asking, Case, Growth
from ledger.core.fairshare.deserved import QueueClaim, deserve
from ledger.core.fairshare.queues import Queue
from ledger.core.fairshare.resources import JobName, NamespaceName, QueueName, Resource
from ledger.core.fairshare.room import Node
from ledger.core.fairshare.round import Job, RoundQuestion, WaitingTask, allocate
from ledger.units import NodeName

_CPU: Final = Resource("cpu")

_QUEUES: Final = 30
_CLASSES: Final = ((350, 1), (100, 5), (50, 20))
"""How many jobs of a queue ask for how many units, as in Kueue's baseline."""

_NODE: Final = 100
"""Units that a node has."""


def _sharing(queues: int) -> Asking:
    """One resource, a quarter of the queues with a guarantee and another with a limit."""
    claims = []
    for number in range(queues):
        # Odd steps that share no divisor with the moduli: values spread without a pattern.
        wanted = 1 + number * 7919 % 10_007
        claims.append(
            QueueClaim(
                Queue(
                    QueueName(f"queue-{number:06}"),
                    weight=1 + number * 31 % 97,
                    guarantee={_CPU: wanted // 4} if number % 4 == 0 else {},
                    capability={_CPU: 1 + wanted // 2} if number % 4 == 1 else {},
                ),
                {_CPU: wanted},
            )
        )
    total = {_CPU: sum(claim.request[_CPU] for claim in claims) // 2}
    return lambda: deserve(total, claims)


def _round(jobs: int, *, share: Fraction = Fraction(1)) -> Asking:
    """So many jobs over the queues, and room for that ``share`` of what they ask for."""
    of_each = jobs // _QUEUES
    each_class = sum(count for count, _ in _CLASSES)
    waiting = []
    units = 0
    for queue in range(_QUEUES):
        for number in range(of_each):
            place = number * each_class // of_each
            size = next(
                size
                for limit, (_, size) in zip((350, 450, 500), _CLASSES, strict=True)
                if place < limit
            )
            units += size
            waiting.append(
                Job(
                    JobName(f"job-{queue:02}-{number:06}"),
                    QueueName(f"queue-{queue:02}"),
                    [WaitingTask(0, {_CPU: size})],
                    namespace=NamespaceName(f"ns-{number % 5}"),
                    seq=number,
                )
            )
    nodes = [
        Node(NodeName(f"node-{number:06}"), {_CPU: _NODE})
        for number in range(int(units * share) // _NODE + 1)
    ]
    question = RoundQuestion(
        total={_CPU: _NODE * len(nodes)},
        queues=[Queue(QueueName(f"queue-{queue:02}")) for queue in range(_QUEUES)],
        jobs=waiting,
        nodes=nodes,
        weights={NamespaceName(f"ns-{number}"): number + 1 for number in range(5)},
    )
    return lambda: allocate(question)


def _half_served(jobs: int) -> Asking:
    return _round(jobs, share=Fraction(1, 2))


def _of(prepare: Callable[[int], Asking], size: int) -> Callable[[], Asking]:
    return lambda: prepare(size)


CASES: Final[tuple[Case, ...]] = (
    Case(
        "fairshare-deserved",
        "share one resource out among 10,000 queues",
        _of(_sharing, 10_000),
        at_most_ms=Fraction(120),
    ),
    Case(
        "fairshare-round",
        "a round with 15,000 jobs over 30 queues, room for all",
        _of(_round, 15_000),
        at_most_ms=Fraction(3_000),
    ),
    Case(
        "fairshare-round-half",
        "the same with room for half, and a reason for each job that waits",
        _of(_half_served, 15_000),
        at_most_ms=Fraction(3_000),
    ),
)

GROWTHS: Final[tuple[Growth, ...]] = (
    Growth(
        "fairshare-deserved",
        "share one resource out among n queues",
        _sharing,
        sizes=(1_250, 2_500, 5_000, 10_000),
    ),
    Growth(
        "fairshare-round",
        "a round with n jobs over 30 queues",
        _round,
        sizes=(1_500, 3_000, 6_000, 12_000),
    ),
)
