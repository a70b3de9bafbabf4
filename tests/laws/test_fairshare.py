"""What holds of fair shares, whoever asks for them."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any, TypeVar

from hypothesis import assume, given
from hypothesis import strategies as st

from ledger.core.fairshare.decay import (
    FINE,
    LARGEST_FACTOR,
    ONE,
    DecayPolicy,
    PastUse,
    charges,
    factor_of,
)
from ledger.core.fairshare.deserved import Claim, Deserved, QueueClaim, deserve, fill, whole_units
from ledger.core.fairshare.entitlement import NamespaceDemand, QueueDemand, entitle
from ledger.core.fairshare.eviction import Evictions, preempt, reclaim
from ledger.core.fairshare.gang import TaskStatus
from ledger.core.fairshare.orders import JOB_ORDER, JobRank, exact_bits, exact_key
from ledger.core.fairshare.queues import Queue
from ledger.core.fairshare.reasons import NamespaceBehind, QueueOverused
from ledger.core.fairshare.resources import (
    JobName,
    NamespaceName,
    QueueName,
    Resource,
    TaskName,
    added,
)
from ledger.core.fairshare.room import Node, Room, ground
from ledger.core.fairshare.round import (
    Alike,
    Holding,
    Job,
    Round,
    RoundQuestion,
    Scope,
    WaitingTask,
    allocate,
)
from ledger.core.fairshare.stage import GangJob, Scene, Stage, Task
from ledger.core.fairshare.victims import Voter, drf_vote
from ledger.core.fairshare.weights import NamespaceQuotas
from ledger.units import Microseconds, NodeName
from tests.laws import fairshare_model as model

Thing = TypeVar("Thing")

CPU, MEM = Resource("cpu"), Resource("mem")
QUEUES = [QueueName(name) for name in ("q2", "q10", "é")]
NAMESPACES = [NamespaceName(name) for name in ("a", "b", "kube-system")]
NODES = [NodeName(name) for name in ("n2", "n10", "x")]

weights = st.one_of(st.integers(1, 3), st.integers(1, 2**40))
small = st.integers(0, 6)
amounts = st.dictionaries(st.sampled_from([CPU, MEM]), small, max_size=2)
requests = st.one_of(
    st.just({CPU: 1}),
    st.dictionaries(st.sampled_from([CPU, MEM]), st.integers(0, 2), max_size=2),
)
seldom = st.sampled_from([False] * 5 + [True])


def all_or_part(names: Sequence[Thing]) -> st.SearchStrategy[list[Thing]]:
    return st.lists(st.sampled_from(names), min_size=1, max_size=len(names), unique=True)


@st.composite
def queues(draw: st.DrawFn, *, bounded: st.SearchStrategy[bool] = seldom) -> list[Queue]:
    found = []
    for name in draw(all_or_part(QUEUES)):
        guarantee = draw(amounts) if draw(bounded) else {}
        limits = draw(amounts) if draw(bounded) else {}
        found.append(
            Queue(
                name,
                weight=draw(weights),
                priority=draw(st.integers(0, 1)),
                seq=draw(st.integers(0, 1)),
                guarantee=guarantee,
                capability={d: n + guarantee.get(d, 0) for d, n in limits.items()},
                is_open=not draw(seldom),
                reclaimable=not draw(seldom),
            )
        )
    return found


@st.composite
def claims(draw: st.DrawFn) -> list[QueueClaim]:
    there = draw(queues(bounded=st.booleans()))
    return [QueueClaim(queue, draw(amounts)) for queue in there]


slots = st.one_of(st.none(), st.none(), st.integers(0, 4))
has = st.one_of(st.just({CPU: 3, MEM: 3}), amounts)
totals = st.one_of(st.just({CPU: 6, MEM: 6}), st.just({CPU: 9, MEM: 9}), amounts)


@st.composite
def nodes(draw: st.DrawFn) -> list[Node]:
    return [Node(name, draw(has), draw(slots)) for name in draw(all_or_part(NODES))]


scopes: list[Scope] = ["per_queue", "per_queue", "global"]


@st.composite
def rounds(draw: st.DrawFn) -> RoundQuestion:
    there = draw(queues())
    names = [*(queue.name for queue in there), QueueName("elsewhere")]
    jobs = []
    for number in range(draw(st.integers(1, 5))):
        many = draw(st.integers(0, 4))
        one = draw(requests)
        tasks = [
            WaitingTask(
                index, one if draw(st.booleans()) else draw(requests), draw(st.integers(0, 1))
            )
            for index in range(many)
        ]
        jobs.append(
            Job(
                JobName(f"j{number}"),
                draw(st.sampled_from(names[:-1] * 3 + names)),
                tasks,
                draw(st.sampled_from(NAMESPACES)),
                gang_min=draw(st.integers(0, 3)),
                priority=draw(st.integers(0, 1)),
                seq=draw(st.integers(0, 2)),
                ready=draw(st.integers(0, 1)),
                held=draw(requests) if draw(seldom) else {},
            )
        )
    holding = st.builds(Holding, st.sampled_from(names), st.sampled_from(NAMESPACES), requests)
    by_queue = st.dictionaries(st.sampled_from(names), amounts, max_size=1)
    places = st.tuples(st.sampled_from(names), st.sampled_from(NAMESPACES))
    orders: list[Sequence[JobRank]] = [JOB_ORDER, ("share", "priority"), ("gang",), ()]
    return RoundQuestion(
        total=draw(totals),
        queues=there,
        jobs=jobs,
        nodes=draw(nodes()),
        running=draw(st.lists(holding, max_size=2)),
        weights=draw(st.dictionaries(st.sampled_from(NAMESPACES), weights, max_size=3)),
        deserved=draw(st.one_of(st.just({}), by_queue)),
        charges=draw(st.one_of(st.just({}), st.dictionaries(places, requests, max_size=1))),
        job_order=draw(st.sampled_from([JOB_ORDER, *orders])),
        max_tasks=draw(st.one_of(st.none(), st.integers(1, 4))),
        scope=draw(st.sampled_from(scopes)),
    )


STATUSES: list[TaskStatus] = [
    *("running", "running", "running", "pending", "pending", "pending", "bound"),
    *("pipelined", "allocated", "releasing", "succeeded", "failed"),
]
VOTERS: list[list[Voter]] = [
    ["conformance", "gang", "drf"],
    ["drf"],
    ["conformance"],
    ["priority", "conformance"],
    ["conformance", "gang", "proportion"],
    ["proportion"],
    ["drf", "proportion"],
    [],
]


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """Nodes that are all but full, and jobs that mostly lack a task or two."""
    there = draw(queues())
    names = [queue.name for queue in there]
    jobs: list[GangJob] = []
    tasks: list[Task] = []
    machines = draw(all_or_part(NODES))
    one = draw(requests)
    for number in range(draw(st.integers(1, 4))):
        name = JobName(f"j{number}")
        own = [
            _task(draw, TaskName(f"t{number}-{index}"), name, one, machines)
            for index in range(draw(st.integers(0, 4)))
        ]
        ready = sum(task.status in model.READY for task in own)
        jobs.append(
            GangJob(
                name,
                draw(st.sampled_from([*names, *names, *names, QueueName("elsewhere")])),
                draw(st.sampled_from(NAMESPACES)),
                gang_min=draw(st.sampled_from([0, 1, ready + 1, ready + 1, ready + 2])),
                priority=draw(st.integers(0, 1)),
                seq=draw(st.integers(0, 1)),
            )
        )
        tasks += own
    return Scene(
        queues=there,
        jobs=jobs,
        nodes=[_all_but_full(draw, name, tasks) for name in machines],
        tasks=tasks,
        weights=draw(st.dictionaries(st.sampled_from(NAMESPACES), weights, max_size=3)),
        voters=draw(st.sampled_from(VOTERS)),
    )


def _task(
    draw: st.DrawFn,
    name: TaskName,
    job: JobName,
    usual: Mapping[Resource, int],
    machines: Sequence[NodeName],
) -> Task:
    status = draw(st.sampled_from(STATUSES))
    return Task(
        name,
        job,
        draw(requests) if draw(seldom) else usual,
        status,
        None if status == "pending" else draw(st.sampled_from(machines)),
        preemptable=not draw(seldom),
        never_preempts=draw(seldom),
        priority=draw(st.integers(0, 1)),
        index=draw(st.integers(0, 1)),
        seq=draw(st.integers(0, 1)),
        priority_class=draw(st.sampled_from(["", "", "", "system-node-critical"])),
    )


def _all_but_full(draw: st.DrawFn, name: NodeName, tasks: Sequence[Task]) -> Node:
    held: dict[Any, int] = {CPU: 0, MEM: 0}
    here = [task for task in tasks if task.node == name and task.status in model.HOLDING]
    for task in here:
        held = model.plus(held, task.request)
    idle = draw(st.one_of(st.just({}), st.just({}), amounts))
    slots = draw(st.sampled_from([None, len(here), max(0, len(here) - 1), len(here) + 1]))
    return Node(name, model.plus(held, idle), slots)


@st.composite
def contests(draw: st.DrawFn) -> Scene:
    """Full nodes, jobs that run on them, and others that starve: somebody has to go, or to wait."""
    there = [Queue(name, draw(st.integers(1, 3))) for name in draw(all_or_part(QUEUES[:2]))]
    machines = draw(all_or_part(NODES[:2]))
    jobs: list[GangJob] = []
    tasks: list[Task] = []
    sizes = st.sampled_from([{CPU: 1}, {CPU: 1}, {CPU: 2}, {CPU: 1, MEM: 1}, {CPU: 1, MEM: 2}])
    for number in range(draw(st.integers(2, 4))):
        name = JobName(f"j{number}")
        running = draw(st.integers(0, 4))
        pending = draw(st.integers(0, 3))
        waits: list[TaskStatus] = ["pending"] * pending
        statuses: list[TaskStatus] = ["running"] * running
        statuses += waits
        tasks += [
            Task(
                TaskName(f"t{number}-{index}"),
                name,
                draw(sizes),
                status,
                draw(st.sampled_from(machines)) if status == "running" else None,
                preemptable=True,
                priority=draw(st.integers(0, 1)),
                seq=index,
            )
            for index, status in enumerate(statuses)
        ]
        short = draw(st.integers(1, pending)) if pending else draw(st.integers(-running, 0))
        jobs.append(
            GangJob(
                name,
                draw(st.sampled_from(there)).name,
                draw(st.sampled_from(NAMESPACES[:2])),
                gang_min=running + short,
                priority=draw(st.integers(0, 1)),
                seq=number,
            )
        )
    return Scene(
        queues=there,
        jobs=jobs,
        nodes=[_all_but_full(draw, name, tasks) for name in machines],
        tasks=tasks,
        weights=draw(st.dictionaries(st.sampled_from(NAMESPACES), weights, max_size=2)),
        voters=draw(st.sampled_from(VOTERS)),
    )


stages = st.one_of(contests(), contests(), scenes())


@given(
    st.fractions(0, 40, max_denominator=7), st.lists(st.tuples(weights, small, small), max_size=6)
)
def test_the_level_is_the_one_that_is_found_segment_by_segment(
    amount: Fraction, drawn: list[tuple[int, int, int]]
) -> None:
    bounds = [(weight, low, low + more) for weight, low, more in drawn]
    assume(sum(low for _, low, _ in bounds) <= amount)

    filled = fill(amount, [Claim(*one) for one in bounds])

    assert list(filled.parts) == model.water(amount, bounds)
    if filled.level is not None:
        for (weight, low, up), part in zip(bounds, filled.parts, strict=True):
            assert part == min(up, max(low, weight * filled.level))


@given(amounts, claims())
def test_queues_deserve_what_the_formula_says(
    total: Mapping[Resource, int], asked: list[QueueClaim]
) -> None:
    shared = deserve(total, asked)

    expected = model.deserved(total, [(claim.queue, claim.request) for claim in asked])
    assert {queue: shared.of(queue) for queue in shared.queues} == expected


@given(amounts, claims())
def test_all_that_may_be_had_is_given_out_and_no_more(
    total: Mapping[Resource, int], asked: list[QueueClaim]
) -> None:
    shared = deserve(total, asked)

    for resource, shares in shared.resources.items():
        most = sum(claim.upper for claim in shares.claims.values())
        assert sum(shares.parts.values()) == min(shares.total, most)
        whole = whole_units(shares)
        assert sum(whole.values()) == min(shares.total, most)
        for queue, part in shares.parts.items():
            claim = shares.claims[queue]
            assert claim.floor <= part <= claim.upper
            assert abs(whole[queue] - part) < 1
            if claim.floor < part < claim.upper:
                assert part == claim.weight * (shares.level or 0)
        guaranteed = sum(claim.queue.guarantee.get(resource, 0) for claim in asked)
        assert shares.infeasible == (guaranteed > shares.total) == (resource in shared.infeasible)
        if not shares.infeasible:
            for one in asked:
                assert shares.parts[one.queue.name] >= one.queue.guarantee.get(resource, 0)


@given(amounts, claims(), st.integers(2, 10**12), st.randoms(use_true_random=False))
def test_neither_the_order_of_queues_nor_the_scale_of_weights_matters(
    total: Mapping[Resource, int], asked: list[QueueClaim], factor: int, shuffler: Random
) -> None:
    shared = deserve(total, asked)

    heavier = [
        replace(claim, queue=replace(claim.queue, weight=factor * claim.queue.weight))
        for claim in asked
    ]
    shuffler.shuffle(heavier)
    again = deserve(total, heavier)

    assert parts_of(again) == parts_of(shared)


def parts_of(shared: Deserved) -> str:
    return repr([(name, shared.of(name)) for name in shared.queues])


@given(amounts, claims(), st.data())
def test_asking_for_more_takes_nothing_from_others_as_far_as_they_deserved_less(
    total: Mapping[Resource, int], asked: list[QueueClaim], data: st.DataObject
) -> None:
    shared = deserve(total, asked)
    place = data.draw(st.integers(0, len(asked) - 1))
    more = data.draw(amounts)

    greedier = list(asked)
    request = {
        d: asked[place].request.get(d, 0) + more.get(d, 0) for d in {**asked[place].request, **more}
    }
    greedier[place] = replace(asked[place], request=request)
    after = deserve(total, greedier)

    mine = asked[place].queue.name
    for queue in shared.queues:
        for resource, part in shared.of(queue).items():
            if queue == mine:
                assert after.of(queue)[resource] >= part
            else:
                assert after.of(queue)[resource] <= part


@given(amounts, claims(), st.data())
def test_a_larger_weight_never_gets_less(
    total: Mapping[Resource, int], asked: list[QueueClaim], data: st.DataObject
) -> None:
    shared = deserve(total, asked)
    place = data.draw(st.integers(0, len(asked) - 1))
    claim = asked[place]

    raised = replace(claim.queue, weight=claim.queue.weight + data.draw(st.integers(1, 50)))
    after = deserve(total, [*asked[:place], replace(claim, queue=raised), *asked[place + 1 :]])

    before = shared.of(claim.queue.name)
    assert all(part >= before[d] for d, part in after.of(claim.queue.name).items())


demands = st.lists(
    st.tuples(weights, st.lists(st.tuples(weights, st.integers(0, 30)), max_size=4)), max_size=4
)


@given(st.integers(0, 60), demands)
def test_entitlement_is_the_same_sharing_twice(
    total: int, drawn: list[tuple[int, list[tuple[int, int]]]]
) -> None:
    asked = [
        QueueDemand(
            QueueName(f"q{q}"),
            weight,
            [NamespaceDemand(NamespaceName(f"n{n}"), w, r) for n, (w, r) in enumerate(inside)],
        )
        for q, (weight, inside) in enumerate(drawn)
    ]

    entitlement = entitle(total, asked)

    outer = model.water(
        Fraction(total), [(weight, 0, sum(r for _, r in inside)) for weight, inside in drawn]
    )
    assert [queue.assigned for queue in entitlement.queues.values()] == outer
    for queue, (_, inside) in zip(entitlement.queues.values(), drawn, strict=True):
        expected = model.water(queue.assigned, [(w, 0, r) for w, r in inside])
        assert list(queue.namespaces.values()) == expected
        assert sum(expected) == queue.assigned


fractions = st.builds(Fraction, st.integers(0, 10**20), st.integers(1, 10**12))


@given(fractions, fractions)
def test_an_exact_key_compares_as_its_fraction_does(one: Fraction, other: Fraction) -> None:
    bits = exact_bits(max(one.denominator, other.denominator))

    left = exact_key(one.numerator, one.denominator, bits)
    right = exact_key(other.numerator, other.denominator, bits)

    assert (left < right, left == right) == (one < other, one == other)


stated: st.SearchStrategy[object] = st.one_of(
    st.integers(-2, 9),
    st.sampled_from([None, True, "7", "07", "0", "-3", "+3", " 3", "2.5", "lots", "٣", "", [], {}]),
)


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.booleans(), stated), max_size=8))
def test_a_namespace_weighs_as_much_as_its_heaviest_quota(
    events: list[tuple[str, bool, object]],
) -> None:
    quotas = NamespaceQuotas()
    last: dict[str, object] = {}
    for name, is_there, value in events:
        quotas = quotas.upsert(name, value) if is_there else quotas.delete(name)
        last.pop(name, None)
        if is_there:
            last[name] = value

        numbers = {str(number): number for number in range(1, 10)} | {"07": 7}
        usable = [
            numbers[str(v)] for v in last.values() if type(v) in (int, str) and str(v) in numbers
        ]
        assert quotas.weight == max([1, *usable])
        unusable = [v for v in last.values() if v is not None]
        assert len(quotas.invalid) == len(unusable) - len(usable)


many_nodes = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([None, 0, 1, 2])), max_size=12
).map(
    lambda drawn: [
        Node(NodeName(f"n{place:02}"), {CPU: cpu, MEM: memory}, slots)
        for place, (cpu, memory, slots) in enumerate(drawn)
    ]
)


@given(st.one_of(nodes(), many_nodes), st.lists(st.tuples(requests, st.booleans()), max_size=8))
def test_the_first_node_that_fits_is_found_and_room_comes_back(
    machines: list[Node], asked: list[tuple[dict[Resource, int], bool]]
) -> None:
    room = Room(machines, [CPU, MEM])
    free = [
        ({d: n.amounts.get(d, 0) for d in (CPU, MEM)}, n.slots)
        for n in sorted(machines, key=lambda node: node.name)
    ]
    for request, stays in asked:
        needs = room.needs([request.get(CPU, 0), request.get(MEM, 0)])
        fitting = [i for i, (there, slots) in enumerate(free) if model.fits(there, slots, request)]

        place = room.first(needs)

        assert place == (fitting[0] if fitting else None)
        assert [i for i in range(len(free)) if room.fits(needs, i)] == fitting
        if place is None:
            assert sum(room.lacking(needs).values()) >= len(free)
            continue
        before = room.free(place)
        room.take(needs, place)
        if stays:
            there, slots = free[place]
            free[place] = (model.plus(there, request, -1), None if slots is None else slots - 1)
        else:
            room.give_back(needs, place)
            assert room.free(place) == before


@given(rounds())
def test_a_round_places_as_if_everybody_were_looked_at_for_every_turn(
    question: RoundQuestion,
) -> None:
    played = allocate(question)

    assert list(played.places) == model.round_of(question)


@given(rounds())
def test_nodes_tasks_and_holdings_may_be_told_together(question: RoundQuestion) -> None:
    jobs = [
        replace(job, tasks=[WaitingTask(task.index, first.request) for task in job.tasks])
        for job in question.jobs
        for first in [*job.tasks, WaitingTask(0, {})][:1]
    ]
    each = replace(question, jobs=jobs)
    with_jobs = {job.namespace for job in jobs}
    others = [holding for holding in question.running if holding.namespace not in with_jobs]
    together = replace(
        question,
        jobs=[
            replace(job, tasks=Alike(sorted(task.index for task in job.tasks), first.request))
            for job in jobs
            for first in [*job.tasks, WaitingTask(0, {})][:1]
        ],
        nodes=ground([*question.nodes]),
        running=[
            *(holding for holding in question.running if holding.namespace in with_jobs),
            *(
                Holding(queue, None, added(one.amounts for one in others if one.queue == queue))
                for queue in sorted({holding.queue for holding in others})
            ),
        ],
    )

    played, again = allocate(each), allocate(together)

    assert repr(again.shared) == repr(played.shared)
    assert again.turns == played.turns
    assert repr(again.losers) == repr(played.losers)
    assert again.used.items() <= played.used.items()
    assert sorted(map(repr, together.nodes)) == sorted(map(repr, _with_all(question.nodes)))


def _with_all(nodes: Collection[Node]) -> list[Node]:
    """The nodes, each with all resources that one of them has."""
    resources = sorted({resource for node in nodes for resource in node.amounts})
    return [
        replace(node, amounts={resource: node.amounts.get(resource, 0) for resource in resources})
        for node in nodes
    ]


@given(
    st.lists(
        st.tuples(st.sampled_from(QUEUES), st.sampled_from(NAMESPACES), st.integers(1, 4)),
        min_size=3,
        max_size=6,
    ),
    st.dictionaries(st.sampled_from(NAMESPACES), weights),
    st.integers(4, 12),
)
def test_a_namespace_that_is_served_in_one_queue_goes_back_in_line_in_all_if_it_counts_in_all(
    wanted: list[tuple[QueueName, NamespaceName, int]], heavy: dict[NamespaceName, int], room: int
) -> None:
    question = RoundQuestion(
        total={CPU: room},
        queues=[Queue(name) for name in QUEUES],
        jobs=[
            Job(JobName(f"j{number}"), queue, [WaitingTask(i, {CPU: 1}) for i in range(many)], ns)
            for number, (queue, ns, many) in enumerate(wanted)
        ],
        nodes=[Node(NODES[0], {CPU: room})],
        weights=heavy,
        scope="global",
    )

    played = allocate(question)

    assert list(played.places) == model.round_of(question)


@given(rounds(), st.randoms(use_true_random=False), st.integers(2, 10**9))
def test_neither_the_order_of_the_inputs_nor_the_scale_of_weights_shows_in_a_round(
    question: RoundQuestion, shuffler: Random, factor: int
) -> None:
    played = allocate(question)

    again = allocate(
        replace(
            question,
            queues=shuffled(question.queues, shuffler),
            jobs=[
                replace(job, tasks=shuffled(job.tasks, shuffler))
                for job in shuffled(question.jobs, shuffler)
            ],
            nodes=shuffled(question.nodes, shuffler),
            running=shuffled(question.running, shuffler),
        )
    )
    heavier = allocate(
        replace(
            question,
            queues=[replace(queue, weight=factor * queue.weight) for queue in question.queues],
            weights={ns: factor * question.weights.get(ns, 1) for ns in NAMESPACES},
        )
    )

    assert repr(again) == repr(played)
    assert list(heavier.places) == list(played.places)


def shuffled(things: Collection[Thing], shuffler: Random) -> list[Thing]:
    copy = list(things)
    shuffler.shuffle(copy)
    return copy


@given(rounds())
def test_gangs_start_whole_or_not_at_all_and_everybody_else_learns_why(
    question: RoundQuestion,
) -> None:
    played = allocate(question)

    placed = Counter(job for job, _, _ in played.places)
    losers = {loser.job: loser for loser in played.losers}
    for job in question.jobs:
        for_nothing = sum(not any(task.request.values()) for task in job.tasks)
        if placed[job.name]:
            assert job.ready + placed[job.name] + for_nothing >= job.gang_min
        waiting = len(job.tasks) - placed[job.name]
        assert (job.name in losers) == (waiting > 0)
        if waiting:
            assert losers[job.name].waiting == waiting
            assert losers[job.name].code == losers[job.name].reasons[0].code


@given(rounds())
def test_a_round_takes_no_queue_beyond_what_it_deserves_and_no_node_beyond_what_it_has(
    question: RoundQuestion,
) -> None:
    played = allocate(question)

    jobs = {job.name: job for job in question.jobs}
    on_nodes: dict[str, dict[Any, int]] = {node.name: {} for node in question.nodes}
    count: Counter[str] = Counter()
    for job, index, node in played.places:
        request = next(task.request for task in jobs[job].tasks if task.index == index)
        on_nodes[node] = model.plus(on_nodes[node], request)
        count[node] += 1
        queue = jobs[job].queue
        held: dict[Any, int] = {}
        for (in_queue, _), used in played.used.items():
            held = model.plus(held, used) if in_queue == queue else held
        for resource, amount in request.items():
            assert not amount or held[resource] <= played.deserved[queue][resource]
    for machine in question.nodes:
        for resource, taken in on_nodes[machine.name].items():
            assert taken <= machine.amounts.get(resource, 0)
        assert machine.slots is None or count[machine.name] <= machine.slots


@given(rounds())
def test_whoever_waits_while_the_queue_is_full_had_no_smaller_share_than_who_was_served(
    question: RoundQuestion,
) -> None:
    played = allocate(question)

    for loser in played.losers:
        codes = [reason.code for reason in loser.reasons]
        if "queue_overused" in codes or "round_full" in codes:
            job = next(job for job in question.jobs if job.name == loser.job)
            mine = weighted(question, played, job)
            before = [
                turn.namespace_share
                for turn in played.turns
                if turn.queue == job.queue and turn.namespace != job.namespace
            ]
            assert all(share <= mine for share in before)
        for reason in loser.reasons:
            if isinstance(reason, NamespaceBehind):
                assert reason.winner_share <= reason.share
            if isinstance(reason, QueueOverused):
                assert all(reason.deserved[d] <= n for d, n in reason.allocated.items())


def weighted(question: RoundQuestion, played: Round, job: Job) -> Fraction:
    held: dict[Any, int] = {}
    everywhere = [queue.name for queue in question.queues]
    for queue in everywhere if question.scope == "global" else [job.queue]:
        place = (queue, job.namespace)
        held = model.plus(held, played.used.get(place, {}))
        held = model.plus(held, question.charges.get(place, {}))
    return model.domshare(held, question.total) / question.weights.get(job.namespace, 1)


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=5), st.integers(1, 30), st.integers(1, 1000)
)
def test_unit_tasks_and_equal_weights_come_within_one_task_of_the_entitlement(
    wanted: list[int], room: int, weight: int
) -> None:
    names = [NamespaceName(f"n{number}") for number in range(len(wanted))]
    queue = QueueName("q")
    played = allocate(
        RoundQuestion(
            total={CPU: room},
            queues=[Queue(queue)],
            jobs=[
                Job(JobName(name), queue, [WaitingTask(i, {CPU: 1}) for i in range(count)], name)
                for name, count in zip(names, wanted, strict=True)
            ],
            nodes=[Node(NodeName("n1"), {CPU: room})],
            weights=dict.fromkeys(names, weight),
        )
    )

    level = model.water(Fraction(room), [(1, 0, count) for count in wanted])
    for name, part in zip(names, level, strict=True):
        assert abs(played.used[queue, name][CPU] - part) < 1


@given(rounds(), st.integers(1, 5))
def test_a_bounded_round_is_the_beginning_of_the_unbounded_one(
    question: RoundQuestion, most: int
) -> None:
    whole = list(allocate(replace(question, max_tasks=None)).places)

    played = allocate(replace(question, max_tasks=most))

    placed = list(played.places)
    assert placed == whole[: len(placed)]
    assert len(placed) <= most or len(played.turns) == 1
    full = any(reason.code == "round_full" for loser in played.losers for reason in loser.reasons)
    assert full or placed == whole


@given(stages)
def test_preempt_evicts_and_pipelines_as_the_literal_rules_do(scene: Scene) -> None:
    done = preempt(scene)

    assert summary(done) == model.preempt(scene)


@given(scene=stages, keep_any=st.booleans())
def test_reclaim_evicts_and_pipelines_as_the_literal_rules_do(
    scene: Scene, *, keep_any: bool
) -> None:
    done = reclaim(scene, require_gang_pipelined=not keep_any)

    assert summary(done) == model.reclaim(scene, keep_any=keep_any)


def summary(done: Evictions) -> tuple[list[str], dict[str, str]]:
    gone = [str(eviction.task) for eviction in done.evicted]
    return gone, {str(task): str(node) for task, node in done.pipelined.items()}


@given(stages, st.randoms(use_true_random=False))
def test_the_order_of_the_inputs_does_not_show_in_evictions(scene: Scene, shuffler: Random) -> None:
    other = replace(
        scene,
        queues=shuffled(scene.queues, shuffler),
        jobs=shuffled(scene.jobs, shuffler),
        nodes=shuffled(scene.nodes, shuffler),
        tasks=shuffled(scene.tasks, shuffler),
    )

    assert repr(preempt(other)) == repr(preempt(scene))
    assert repr(reclaim(other)) == repr(reclaim(scene))


@given(stages)
def test_nobody_goes_who_may_not_and_nobody_twice(scene: Scene) -> None:
    tasks = {task.name: task for task in scene.tasks}
    jobs = {job.name: job for job in scene.jobs}

    for done in (preempt(scene), reclaim(scene)):
        gone = [eviction.task for eviction in done.evicted]
        assert len(set(gone)) == len(gone)
        assert not set(gone) & set(done.pipelined)
        for eviction in done.evicted:
            victim = tasks[eviction.task]
            assert victim.preemptable
            assert victim.status in ("running", "bound")
            assert eviction.node == victim.node == done.pipelined[eviction.taker]
            assert [ballot.voter for ballot in eviction.ballots] == list(scene.voters or ())
            assert all(ballot.granted for ballot in eviction.ballots)
            assert not tasks[eviction.taker].never_preempts
        if "gang" in (scene.voters or ()):
            lost = Counter(eviction.job for eviction in done.evicted)
            for job, count in lost.items():
                left = sum(task.job == job and task.status in model.READY for task in scene.tasks)
                assert left - count >= jobs[job].gang_min


@given(stages)
def test_without_the_last_of_its_victims_a_task_would_have_no_place(scene: Scene) -> None:
    for done in (preempt(scene), reclaim(scene)):
        takers = {eviction.taker for eviction in done.evicted}
        if len(done.pipelined) == len(takers) == 1:
            (taker,) = (task for task in scene.tasks if task.name in takers)
            node = done.pipelined[taker.name]
            gone = [eviction.task for eviction in done.evicted]

            assert has_place(scene, taker, node, gone)
            assert not has_place(scene, taker, node, in_turn(scene, gone)[:-1])


def has_place(scene: Scene, task: Task, node: str, gone: Sequence[TaskName]) -> bool:
    cluster = model.Cluster(scene)
    cluster.status.update(dict.fromkeys(gone, "releasing"))
    return cluster.allowed(task) and cluster.room(node, task.request)


def in_turn(scene: Scene, gone: Sequence[TaskName]) -> list[TaskName]:
    """The victims in the order in which they had to go."""
    cluster = model.Cluster(scene)
    last_queue_first = list(reversed(cluster.queue_order()))
    tasks = [task for task in scene.tasks if task.name in gone]
    tasks.sort(key=lambda t: t.name, reverse=True)
    tasks.sort(key=lambda t: (cluster.jobs[t.job].priority, t.priority, -t.seq))
    tasks.sort(key=lambda t: last_queue_first.index(cluster.jobs[t.job].queue))
    return [task.name for task in tasks]


@given(contests(), st.booleans())
def test_an_exchange_is_never_granted_both_ways(scene: Scene, one_resource: bool) -> None:  # noqa: FBT001 - drawn
    if one_resource:
        scene = replace(scene, tasks=[replace(t, request={CPU: 1}) for t in scene.tasks])
    for taker in scene.tasks:
        for giver in scene.tasks:
            statuses = (taker.status, giver.status)
            if statuses == ("pending", "running") and taker.job != giver.job:
                if not is_granted(scene, taker, giver):
                    continue
                takes = replace(taker, status="running", node=giver.node)
                gives = replace(giver, status="pending", node=None)
                changed = {taker.name: takes, giver.name: gives}
                tasks = [changed.get(task.name, task) for task in scene.tasks]
                assert not is_granted(replace(scene, tasks=tasks), gives, takes)


def is_granted(scene: Scene, taker: Task, giver: Task) -> bool:
    """Whether the drf voter grants just this exchange."""
    stage = Stage(scene)
    mine, its = stage.party(taker), stage.party(giver)
    ballots = drf_vote(
        mine, [its], stage.holdings(mine, [its]), of_total=stage.of_total, weights=stage.weights
    )
    return ballots[0].granted


@given(contests())
def test_with_one_resource_preempting_again_and_again_comes_to_rest(scene: Scene) -> None:
    now = replace(
        scene,
        tasks=[replace(task, request={CPU: 1}) for task in scene.tasks],
        voters=["drf"],
    )
    seen = []
    while (done := preempt(now)).pipelined:
        seen.append({task.name: task.status for task in now.tasks})
        gone = {eviction.task for eviction in done.evicted}
        now = replace(now, tasks=[settled(task, gone, done.pipelined) for task in now.tasks])
        assert {task.name: task.status for task in now.tasks} not in seen


def settled(task: Task, gone: set[TaskName], pipelined: Mapping[TaskName, NodeName]) -> Task:
    """The task once the evicted are gone and wait, and the pipelined run."""
    if task.name in gone:
        return replace(task, status="pending", node=None)
    if task.name in pipelined:
        return replace(task, status="running", node=pipelined[task.name])
    return task


BUCKET = Microseconds(60)
factors = st.one_of(
    st.integers(1, LARGEST_FACTOR), st.integers(1, 8).map(lambda n: ONE - ONE // 2**n)
)
histories = st.lists(
    st.tuples(st.integers(0, 200), st.integers(0, 3), st.booleans()), min_size=1, max_size=6
)


@given(histories, factors, st.booleans(), st.data())
def test_past_use_is_the_same_however_often_anybody_looked(
    history: list[tuple[int, int, bool]],
    factor: int,
    penalty: bool,  # noqa: FBT001 - drawn
    data: st.DataObject,
) -> None:
    policy = DecayPolicy(BUCKET, factor, entry_penalty=penalty)
    seldom_seen = often_seen = PastUse(Microseconds(0))
    at, means, left, added_ = 0, Fraction(0), 0, 0
    held: list[int] = []
    for passed, amount, enters in history:
        if passed:
            look = Microseconds(at + data.draw(st.integers(0, passed)))
            often_seen = often_seen.until(look, policy)
        for _ in range(passed):  # A microsecond at a time, as a child would do it.
            left += sum(held)
            at += 1
            if at % BUCKET == 0:
                mixed = means * factor + FINE * left // BUCKET * (ONE - factor)
                means, left, added_ = Fraction(int(mixed) // ONE), 0, 0
        now = Microseconds(at)
        if enters:
            held.append(amount)
            seldom_seen = seldom_seen.bind({CPU: amount}, now, policy)
            often_seen = often_seen.bind({CPU: amount}, now, policy)
            added_ += FINE * amount * (ONE - factor) // ONE if penalty else 0
        elif held:
            gone = held.pop()
            seldom_seen = seldom_seen.release({CPU: gone}, now, policy)
            often_seen = often_seen.release({CPU: gone}, now, policy)

    expected = int(means + added_) // FINE
    places = {(QUEUES[0], NAMESPACES[0]): seldom_seen}
    assert seldom_seen.charge(Microseconds(at), policy).get(CPU, 0) == expected
    assert often_seen.charge(Microseconds(at), policy).get(CPU, 0) == expected
    assert charges(places, Microseconds(at), None) == {}
    assert charges(places, Microseconds(at), policy)[QUEUES[0], NAMESPACES[0]].get(CPU, 0) == (
        expected
    )


@given(st.integers(1, 60), st.integers(1, 100))
def test_a_factor_leaves_half_after_a_half_life_and_is_the_largest_that_does(
    buckets: int, bucket: int
) -> None:
    factor = factor_of(Microseconds(buckets * bucket), Microseconds(bucket))

    assert Fraction(factor, ONE) ** buckets <= Fraction(1, 2) < Fraction(factor + 1, ONE) ** buckets


@given(st.integers(1, 10**6), factors)
def test_nothing_is_remembered_for_ever_and_nothing_grows_without_bound(
    amount: int, factor: int
) -> None:
    policy = DecayPolicy(BUCKET, factor)
    used = PastUse(Microseconds(0)).bind({CPU: amount}, Microseconds(0), policy)
    years = Microseconds(10**18)

    long_held = used.until(years, policy)
    assert long_held.charge(years, policy)[CPU] <= amount
    gone = long_held.release({CPU: amount}, years, policy)
    assert gone.charge(Microseconds(2 * years), policy)[CPU] == 0
