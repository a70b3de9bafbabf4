"""What holds of on-demand and spot, whatever a cluster does and whatever a pod looks like."""

from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cmp_to_key
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ledger.core.spot import slots
from ledger.core.spot.deletion_cost import raised, read_deletion_cost
from ledger.core.spot.labels import CapacityClass, NodeLabel
from ledger.core.spot.min_available import read_min_available
from ledger.core.spot.ordinal import Pod, place
from ledger.core.spot.patch import Marks, Mode, Patch, patch
from ledger.core.spot.pins import user_pin
from ledger.core.spot.repair import ordinals_to_recreate, proposed_repair
from ledger.core.spot.scale_down import ActivePod, Phase, deletion_order, turn
from ledger.core.spot.selectors import Node, matching_term, read_terms
from ledger.core.spot.slots import Admission, Slots, Template, admit, tally
from ledger.core.spot.target import Strictness, Target, Workload, target
from tests.laws import spot_model

LABEL = NodeLabel()

# Annotations and targets

TEXTS = {str(count): ("int", count) for count in range(1001)}
PERCENTS = {f"{percent}%": percent for percent in range(101)}

replicas = st.one_of(st.integers(0, 12), st.integers(0, 2000))
spaces = st.text(" \t\n\v\f\r", max_size=2)
written = st.one_of(
    st.sampled_from(sorted(TEXTS)),
    st.sampled_from(sorted(PERCENTS)),
    st.text("0123456789%+-. x٣", max_size=5),
)
annotations = st.builds(lambda a, b, c: a + b + c, spaces, written, spaces)
strictnesses: st.SearchStrategy[Strictness] = st.sampled_from(["clamp", "literal", "strict"])


@given(annotations, replicas)
def test_an_annotation_is_one_of_the_texts_that_can_be_listed(text: str, count: int) -> None:
    read = read_min_available(text, replicas=count)

    bare = text.strip(" \t\n\v\f\r")
    if bare in PERCENTS:
        enough = [pods for pods in range(count + 1) if 100 * pods >= PERCENTS[bare] * count]
        assert (read.kind, read.pods) == ("percent", enough[0])
    elif bare in TEXTS:
        assert (read.kind, read.pods) == TEXTS[bare]
    else:
        assert (read.kind == "int") == (bare.isascii() and bare.isdigit() and bare[0] != "0")
        assert read.kind == "int" or (read.kind, read.pods) == ("invalid", None)


@given(st.sampled_from(["Deployment", "StatefulSet"]), replicas, st.data(), strictnesses)
def test_a_target_is_within_the_replicas_and_grows_with_what_is_asked_for(
    kind: str, count: int, data: st.DataObject, strictness: Strictness
) -> None:
    less, more = sorted(data.draw(st.tuples(*[st.integers(0, count + 3)] * 2)))

    low, high = (
        target(Workload(kind, count, str(asked)), strictness=strictness) for asked in (less, more)
    )

    assert low.pods is not None
    assert high.pods is not None
    assert 0 <= low.pods <= high.pods <= max(1, count)
    if count > 1:
        assert high.pods >= min(more, count)
        assert ("all_on_demand" in high.flags) == (high.pods == count)
        if kind == "StatefulSet" and strictness != "literal":
            assert 2 * low.pods > count
            assert ("raised_to_majority" in low.flags) == (2 * less <= count)
        else:
            assert high.pods == min(more, count)


@given(replicas, annotations, st.lists(st.one_of(st.none(), annotations), max_size=5))
def test_the_newest_annotation_that_could_be_read_is_never_forgotten(
    count: int, last: str, before: list[str | None]
) -> None:
    workload = Workload("Deployment", count + 2, None)
    for text in [*before, last]:
        workload = workload.annotated(text)

    readable = [
        text
        for text in [*before, last]
        if text is not None and read_min_available(text, replicas=1).kind in ("int", "percent")
    ]
    assert target(workload).read == (readable[-1] if readable else None)


# Ordinals


@given(st.integers(0, 30), annotations, st.integers(0, 5))
def test_exactly_the_target_of_a_statefulset_is_on_demand_whoever_asks_first(
    count: int, annotation: str, start: int
) -> None:
    found = target(Workload("StatefulSet", count, annotation))
    names = [f"db-{start + index}" for index in range(max(1, count))]

    places = [place(Pod(name, "db", start=start), found) for name in names]
    labelled = [place(Pod("x", "db", name[3:], start), found) for name in reversed(names)]

    assert labelled[::-1] == places
    if found.pods is None:
        assert {one.capacity_class for one in places} == {None}
    else:
        assert [one.capacity_class == "od" for one in places] == [
            index < found.pods for index in range(len(names))
        ]


@given(st.integers(2, 12), st.integers(0, 12), st.integers(0, 12))
def test_a_raised_target_recreates_what_lies_between(count: int, one: int, other: int) -> None:
    before, after = (
        target(Workload("StatefulSet", count, str(asked)), strictness="literal")
        for asked in sorted((one, other))
    )
    assert before.pods is not None
    assert after.pods is not None
    classes = {i: place(Pod(f"db-{i}", "db"), before).capacity_class for i in range(count)}

    assert ordinals_to_recreate(classes, after) == (*range(before.pods, after.pods),)


# Slots


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens; ``number`` names a reservation modulo those that there are."""

    verb: str
    template: str
    number: int
    uid: str
    carried: bool
    dry_run: bool
    pin: CapacityClass | None
    present: int


VERBS = [
    *(["admit"] * 8 + ["seen"] * 5 + ["gone"] * 3),
    *("expire", "adopt", "list", "told", "told", "due", "due"),
]

rarely = st.sampled_from([False] * 4 + [True])
classes: st.SearchStrategy[CapacityClass] = st.sampled_from(["od", "spot"])

steps = st.builds(
    Step,
    verb=st.sampled_from(VERBS),
    template=st.sampled_from("AAAB"),
    number=st.integers(0, 30),
    uid=st.sampled_from([f"u{number}" for number in range(40)]),
    carried=rarely,
    dry_run=rarely,
    pin=st.sampled_from([None, None, None, None, "od", "spot"]),
    present=st.integers(0, 2**12 - 1),
)

DUES: list[Target] = [
    Target(1, "single"),
    Target(None, "passthrough"),
    *(Target(pods, "slots") for pods in range(5)),
]


def said(answer: slots.Answer) -> dict[str, Any]:
    """An answer in the words of the model."""
    return {
        "class": answer.capacity_class,
        "number": answer.reservation,
        "flags": [*answer.flags],
        "retired": [*answer.retired],
        "lost": [*answer.assumed_lost],
    }


class Both:
    """The core and the model, side by side through the same history."""

    def __init__(self) -> None:
        self.core = Slots()
        self.rows = spot_model.Rows()
        self.due = Target(2, "slots")

    def take(self, step: Step) -> None:
        number = step.number % self.core.last + 1 if self.core.last else None
        match step.verb:
            case "admit":
                self.admit(step, number if step.carried else None)
            case "told":
                self.core = slots.told_replicas(self.core, step.template, step.number % 6)
                self.rows.replicas[step.template] = step.number % 6
            case "due":
                self.due = DUES[step.number % len(DUES)]
            case "adopt":
                kind: CapacityClass = "od" if step.dry_run else "spot"
                self.core = slots.adopt(self.core, step.template, kind)
                self.rows.adopt(step.template, kind)
            case "list":
                known = range(1, self.core.last + 1)
                present = [one for one in known if step.present >> one % 12 & 1]
                self.core = slots.listed(self.core, step.template, present)
                self.rows.listed(step.template, present)
            case "seen" if number is not None:
                seen = slots.seen(self.core, number)
                self.core = seen.slots
                assert self.rows.pod_seen(number) == seen.late
            case "gone" if number is not None:
                self.core = slots.gone(self.core, number)
                self.rows.pod_gone(number)
            case "expire" if number is not None:
                self.core = slots.expire(self.core, number)
                self.rows.expire(number)
            case _:
                pass

    def admit(self, step: Step, carried: int | None) -> None:
        name = None if carried is None else self.core.name(carried)
        admission = Admission(step.uid, step.template, name, step.dry_run, step.pin)
        admitted = admit(self.core, admission, self.due)
        self.core = admitted.slots
        answer = self.rows.admit(
            step.uid,
            step.template,
            self.due.pods,
            single=self.due.mode == "single",
            carried=carried,
            dry_run=step.dry_run,
            pin=step.pin,
        )
        assert said(admitted.answer) == answer

    def agree(self) -> None:
        for name in ("A", "B"):
            counted = tally(self.core.templates.get(name, Template()), self.due)
            live, on_demand = len(self.rows.live(name)), self.rows.on_demand(name)
            assert (counted.live, counted.on_demand) == (live, on_demand)
            if self.due.pods is None:
                assert (counted.target, counted.deficit, counted.surplus) == (None, 0, 0)
            else:
                assert counted.deficit == max(0, min(self.due.pods, live) - on_demand)
                assert counted.surplus == max(0, on_demand - self.due.pods)


@given(st.lists(steps, max_size=40))
def test_reservations_are_those_of_the_model_with_a_row_each(history: list[Step]) -> None:
    both = Both()
    for step in history:
        both.take(step)
        both.agree()


@given(st.lists(steps, max_size=40))
def test_every_reservation_is_in_one_place_and_every_tuple_is_sorted(history: list[Step]) -> None:
    both = Both()
    for step in history:
        both.take(step)

    homes: dict[int, str] = {}
    for name, template in sorted(both.core.templates.items()):
        for held in (template.od, template.spot):
            for numbers in held:
                assert list(numbers) == sorted(set(numbers))
                assert homes.keys().isdisjoint(numbers)
                homes |= dict.fromkeys(numbers, name)
    assert homes == dict(both.core.homes)


@given(st.lists(steps, max_size=30))
def test_the_same_history_told_again_comes_to_the_same_state(history: list[Step]) -> None:
    first, again = Both(), Both()
    for step in history:
        first.take(step)
    for step in history:
        again.take(step)

    assert again.core == first.core


@given(st.lists(steps, max_size=30), steps)
def test_the_same_admission_is_answered_once(history: list[Step], last: Step) -> None:
    both = Both()
    for step in history:
        both.take(step)
    admission = Admission(last.uid, last.template, user_pin=last.pin)

    once = admit(both.core, admission, both.due)
    twice = admit(once.slots, replace(admission, user_pin=None), Target(0, "slots"))

    assert twice.answer == once.answer
    assert twice.slots is once.slots
    assert twice.replayed


@given(st.lists(steps, max_size=30), steps)
def test_a_dry_run_or_a_pod_that_holds_its_slot_counts_nothing(
    history: list[Step], last: Step
) -> None:
    both = Both()
    for step in history:
        both.take(step)
    core, due = both.core, both.due

    dry = admit(core, Admission("dry", last.template, dry_run=True), due)
    real = admit(core, Admission("real", last.template), due)
    assert dry.slots is core
    assert dry.answer.reservation is None
    assert dry.answer.capacity_class == real.answer.capacity_class
    if real.answer.reservation is None:
        assert due.pods is None
        return

    name = core.name(real.answer.reservation)
    again = admit(real.slots, Admission("again", last.template, carried=name), due)
    assert again.answer.reservation == real.answer.reservation
    assert again.answer.capacity_class == real.answer.capacity_class
    assert again.slots.templates == real.slots.templates


@given(st.lists(steps, max_size=40))
def test_what_happens_to_other_templates_decides_nothing(history: list[Step]) -> None:
    """The other pods' reservations take numbers in between; that is all they may do."""
    due = Target(2, "slots")
    alone, beside = Slots(), Slots()
    mine: dict[int, int] = {}
    others: list[int] = []

    for place_, step in enumerate(history):
        admission = Admission(f"u{place_}", step.template, user_pin=step.pin)
        if step.verb in ("due", "list"):
            due = DUES[step.number % len(DUES)]
        elif step.template == "B":
            before = beside.last
            beside = happened(beside, step, admission, due, others)
            others += range(before + 1, beside.last + 1)
        else:
            pairs = sorted(mine.items())
            last = alone.last
            alone = happened(alone, step, admission, due, [number for number, _ in pairs])
            beside = happened(beside, step, admission, due, [number for _, number in pairs])
            if alone.last > last:
                mine[alone.last] = beside.last
        assert shape(alone, mine) == shape(beside, {})


def happened(
    core: Slots, step: Step, admission: Admission, due: Target, numbers: list[int]
) -> Slots:
    """One step, about one of the ``numbers`` if it is about a reservation."""
    number = numbers[step.number % len(numbers)] if numbers else None
    match step.verb:
        case "admit":
            return admit(core, admission, due).slots
        case "told":
            return slots.told_replicas(core, step.template, step.number % 6)
        case "adopt":
            return slots.adopt(core, step.template, "od" if step.dry_run else "spot")
        case "seen" if number is not None:
            return slots.seen(core, number).slots
        case "gone" if number is not None:
            return slots.gone(core, number)
        case "expire" if number is not None:
            return slots.expire(core, number)
        case _:
            return core


def shape(core: Slots, numbers: dict[int, int]) -> object:
    template = core.templates.get("A", Template())
    return template.replicas, [
        [numbers.get(number, number) for number in standing]
        for held in (template.od, template.spot)
        for standing in held
    ]


@given(st.integers(0, 9), st.integers(0, 9), st.permutations(list(range(9))))
def test_admissions_in_any_order_come_to_the_target(
    due: int, count: int, arrivals: list[int]
) -> None:
    core = slots.told_replicas(Slots(), "A", 9)
    for arrival in arrivals[:count]:
        core = admit(core, Admission(f"u{arrival}", "A"), Target(due, "slots")).slots

    assert core.templates["A"].on_demand == min(due, count)
    assert core.templates["A"].live == count


@given(st.integers(0, 6), st.integers(0, 6), st.lists(steps, max_size=40))
def test_while_nothing_changes_neither_class_takes_room_of_the_other(
    count: int, asked: int, history: list[Step]
) -> None:
    due = Target(min(count, asked), "slots")
    assert due.pods is not None
    core = slots.told_replicas(Slots(), "A", count)

    for uid, step in enumerate(history):
        number = step.number % core.last + 1 if core.last else None
        if step.verb == "admit":
            core = admit(core, Admission(f"u{uid}", "A"), due).slots
        elif step.verb == "seen" and number in live_ones(core):
            core = slots.seen(core, number).slots
        elif step.verb == "gone" and number is not None:
            core = slots.gone(core, number)
        template = core.templates["A"]
        if step.verb == "admit" and count:
            assert template.on_demand <= due.pods
            assert template.live - template.on_demand <= count - due.pods
            assert template.live < count or template.on_demand == due.pods


def live_ones(core: Slots) -> set[int]:
    template = core.templates["A"]
    return {n for held in (template.od, template.spot) for n in held.open + held.confirmed}


@dataclass
class Cluster:
    """A ReplicaSet in a cluster that refuses, kills and tells late; what is true is in ``pods``."""

    count: int
    due: Target
    core: Slots
    pods: dict[int, CapacityClass]
    told: list[tuple[str, int]]
    tries: int = 0

    def create(self, *, refused: bool, reader: bool) -> None:
        """The controller creates a pod if one is missing, and later hooks may refuse it."""
        if len(self.pods) >= self.count:
            return
        if reader and slots.must_list(self.core, "A"):
            self.core = slots.listed(self.core, "A", [*self.pods])
        self.tries += 1
        admitted = admit(self.core, Admission(f"u{self.tries}", "A"), self.due)
        self.core = admitted.slots
        assert admitted.answer.reservation is not None
        assert admitted.answer.capacity_class is not None
        if not refused:
            self.pods[admitted.answer.reservation] = admitted.answer.capacity_class
            self.told.append(("seen", admitted.answer.reservation))

    def kill(self, which: int) -> None:
        if self.pods:
            number = sorted(self.pods)[which % len(self.pods)]
            del self.pods[number]
            self.told.append(("gone", number))

    def hear(self, most: int, *, twice: bool) -> None:
        """Some of what happened arrives, in the order it happened in, now and then twice."""
        heard, self.told = self.told[:most], self.told[most:]
        for verb, number in heard * (2 if twice else 1):
            if verb == "seen":
                self.core = slots.seen(self.core, number).slots
            else:
                self.core = slots.gone(self.core, number)

    def settle(self, *, reader: bool) -> None:
        """Everything arrives, and the controller creates what is missing."""
        self.hear(len(self.told), twice=False)
        while len(self.pods) < self.count:
            self.create(refused=False, reader=reader)
            self.hear(len(self.told), twice=False)

    @property
    def on_demand(self) -> int:
        return sum(kind == "od" for kind in self.pods.values())


happenings = st.lists(
    st.tuples(
        st.sampled_from(["create", "create", "create", "refuse", "kill", "hear"]),
        st.integers(0, 9),
    ),
    max_size=50,
)


def cluster(count: int, asked: int) -> Cluster:
    core = slots.told_replicas(Slots(), "A", count)
    return Cluster(count, Target(min(count, asked), "slots"), core, {}, [])


def live(it: Cluster, history: list[tuple[str, int]], *, reader: bool, late: bool) -> None:
    for what, many in history:
        match what:
            case "create" | "refuse":
                it.create(refused=what == "refuse", reader=reader)
            case "kill":
                it.kill(many)
            case _:
                it.hear(many, twice=many % 2 == 0)
        if not late:
            it.hear(len(it.told), twice=False)


@given(st.integers(2, 7), st.integers(0, 7), happenings)
def test_with_a_list_when_it_matters_the_split_is_exact_however_late_events_are(
    count: int, asked: int, history: list[tuple[str, int]]
) -> None:
    it = cluster(count, asked)

    live(it, history, reader=True, late=True)
    it.settle(reader=True)

    assert it.on_demand == it.due.pods
    assert tally(it.core.templates["A"], it.due).deficit == 0


@given(st.integers(2, 7), st.integers(0, 7), happenings)
def test_with_events_in_time_the_split_is_exact_without_a_list(
    count: int, asked: int, history: list[tuple[str, int]]
) -> None:
    it = cluster(count, asked)

    live(it, history, reader=False, late=False)
    it.settle(reader=False)

    assert it.on_demand == it.due.pods


@given(st.integers(2, 7), st.integers(0, 7), happenings)
def test_what_has_come_to_rest_is_counted_truly_and_the_repair_ends_a_deficit(
    count: int, asked: int, history: list[tuple[str, int]]
) -> None:
    it = cluster(count, asked)
    live(it, history, reader=False, late=True)
    it.settle(reader=False)
    for number in range(1, it.core.last + 1):
        it.core = slots.expire(it.core, number)

    # Whoever was assumed lost too early is missed until somebody looks, and that shows.
    template = it.core.templates["A"]
    missed = sorted(it.pods.keys() - {*template.od.confirmed, *template.spot.confirmed})
    assert template.live == count - len(missed)
    assert set(missed) <= {*template.od.lost, *template.spot.lost}
    if missed:
        assert proposed_repair(template, it.due) is None
        it.core = slots.listed(it.core, "A", [*it.pods])
    counts_truly(it)

    repair = proposed_repair(it.core.templates["A"], it.due)
    assert (repair is not None) == (it.on_demand != it.due.pods)
    if repair is not None and repair.code == "surplus":
        assert all(it.pods[number] == "od" for number in repair.candidates)
    elif repair is not None:
        for number in repair.candidates[: repair.count]:
            it.kill(sorted(it.pods).index(number))
            it.settle(reader=False)
        assert it.on_demand == it.due.pods


def counts_truly(it: Cluster) -> None:
    assert it.due.pods is not None
    counted = tally(it.core.templates["A"], it.due)
    assert (counted.on_demand, counted.live) == (it.on_demand, len(it.pods))
    assert counted.deficit == max(0, it.due.pods - it.on_demand)
    assert counted.surplus == max(0, it.on_demand - it.due.pods)


@given(st.integers(1, 8), st.integers(0, 8), st.integers(1, 3), st.lists(st.integers(0, 9)))
def test_new_pods_fill_the_slots_of_their_own_template_while_old_ones_go(
    count: int, asked: int, surge: int, deletions: list[int]
) -> None:
    """Old pods go in whatever order; then all is rolled back, and what is left of them counts."""
    due = Target(min(count, asked), "slots")
    assert due.pods is not None
    core = grown(slots.told_replicas(Slots(), "old", count), "old", due)

    for which in deletions:
        old = core.templates["old"]
        left = sorted(old.od.confirmed + old.spot.confirmed)
        if not left:
            break
        core = slots.told_replicas(core, "new", count + surge - len(left))
        core = grown(core, "new", due)
        core = slots.told_replicas(core, "old", len(left) - 1)
        core = slots.gone(core, left[which % len(left)])
        new = core.templates["new"]
        assert new.on_demand == min(due.pods, new.live)
        assert core.templates["old"].on_demand + new.on_demand <= 2 * due.pods

    before = core.templates["old"]
    core = grown(slots.told_replicas(core, "old", count), "old", due)
    after = core.templates["old"]
    assert after.on_demand == min(due.pods, before.on_demand + after.live - before.live)


def grown(core: Slots, name: str, due: Target) -> Slots:
    """The ReplicaSet creates what it is short of, and all of it comes to be."""
    replicas = core.templates[name].replicas
    assert replicas is not None
    for _ in range(replicas - core.templates[name].live):
        admitted = admit(core, Admission(f"u{core.last}", name), due)
        assert admitted.answer.reservation is not None
        core = slots.seen(admitted.slots, admitted.answer.reservation).slots
    return core


# Patches

KEYS = [LABEL.key, "zone"]
VALUES = ["on-demand", "spot", "reserved", "3", "-1"]
EVERY_VALUE = [*VALUES, "anything", *(str(n) for n in range(-6, 7)), *(f"0{n}" for n in range(7))]

requirements = st.one_of(
    st.builds(
        lambda key, operator, values: {"key": key, "operator": operator, "values": values},
        st.sampled_from(KEYS),
        st.sampled_from(["In", "NotIn"]),
        st.lists(st.sampled_from(VALUES), max_size=2),
    ),
    st.just({"key": LABEL.key, "operator": "In", "values": ["on-demand"]}),
    st.builds(
        lambda key, operator: {"key": key, "operator": operator},
        st.sampled_from(KEYS),
        st.sampled_from(["Exists", "DoesNotExist", "Near"]),
    ),
    st.builds(
        lambda key, operator, value: {"key": key, "operator": operator, "values": [value]},
        st.sampled_from(KEYS),
        st.sampled_from(["Gt", "Lt"]),
        st.sampled_from(["-3", "0", "1", "2", "x"]),
    ),
)
fields = st.builds(
    lambda operator, name: {"key": "metadata.name", "operator": operator, "values": [name]},
    st.sampled_from(["In", "NotIn"]),
    st.sampled_from(["n1", "n2"]),
)


def some(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(strategy, max_size=2)


def objects(**entries: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects of which any entry may be missing or null."""
    return st.fixed_dictionaries(
        {}, optional={name: st.one_of(value, value, st.none()) for name, value in entries.items()}
    )


terms = st.one_of(
    st.fixed_dictionaries({"matchExpressions": st.lists(requirements, min_size=1, max_size=3)}),
    objects(matchExpressions=some(requirements), matchFields=some(fields)),
)
OUR_TERM = {
    "weight": 100,
    "preference": {
        "matchExpressions": [{"key": LABEL.key, "operator": "In", "values": ["spot"]}],
    },
}
TOLERATIONS = [{"key": "spot", "operator": "Exists"}, {"key": "kind", "value": "spot"}]

specs = objects(
    nodeSelector=objects(zone=st.just("a"), **{LABEL.key: st.sampled_from(VALUES[:2])}),
    affinity=objects(
        podAffinity=st.just({}),
        nodeAffinity=objects(
            requiredDuringSchedulingIgnoredDuringExecution=objects(nodeSelectorTerms=some(terms)),
            preferredDuringSchedulingIgnoredDuringExecution=some(
                st.sampled_from([OUR_TERM, {"weight": 5, "preference": {}}])
            ),
        ),
    ),
    tolerations=some(st.sampled_from(TOLERATIONS)),
)
COST = "controller.kubernetes.io/pod-deletion-cost"
RESERVATION = "distributed-scheduling/reservation"
pods = objects(
    metadata=objects(
        labels=objects(
            app=st.just("web"),
            **{"distributed-scheduling/desired-capacity": st.sampled_from(["spot", "on-demand"])},
        ),
        annotations=objects(
            **{
                COST: st.sampled_from(["10", "-5", "2147483647", "008", ""]),
                RESERVATION: st.sampled_from(["r1", "r9"]),
            }
        ),
    ),
    spec=specs,
)
modes: st.SearchStrategy[Mode] = st.sampled_from(["single", "single_sts", "slots", "ordinal"])


@dataclass(frozen=True, slots=True)
class Asked:
    pod: dict[str, Any]
    wanted: CapacityClass
    mode: Mode
    tolerations: list[dict[str, Any]]

    def patch(self, pod: dict[str, Any]) -> Patch:
        reservation = "r1" if self.mode in ("single", "slots") else None
        return patch(
            pod,
            wanted=self.wanted,
            mode=self.mode,
            reservation=reservation,
            marks=Marks(tolerations=self.tolerations),
        )


questions = st.builds(
    Asked,
    pods,
    classes,
    modes,
    st.lists(st.sampled_from(TOLERATIONS), max_size=3),
)


def applied(pod: dict[str, Any], found: Patch) -> dict[str, Any]:
    result = spot_model.applied(pod, [(add.path, add.value) for add in found.adds])
    assert isinstance(result, dict)
    return result


@given(questions)
def test_a_patch_applies_to_the_pod_as_it_is_and_a_second_one_is_empty(asked: Asked) -> None:
    before = deepcopy(asked.pod)

    found = asked.patch(asked.pod)
    patched = applied(asked.pod, found)

    assert asked.pod == before, "the pod that was given is not touched"
    assert asked.patch(patched).adds == ()
    paths = [add.path for add in found.adds]
    assert not any(one != other and other.startswith(f"{one}/") for one in paths for other in paths)


@given(questions)
def test_a_patch_never_widens_where_a_pod_may_run_and_narrows_only_to_on_demand(
    asked: Asked,
) -> None:
    found = asked.patch(asked.pod)
    patched = applied(asked.pod, found)

    kept = {"invalid_selector_left", "selector_matches_nothing_left"}.intersection(found.flags)
    for name in ("n1", "n2"):
        for zone in ({}, {"zone": "a"}, {"zone": "3"}):
            for capacity in (None, *VALUES):
                labels = zone if capacity is None else {**zone, LABEL.key: capacity}
                was = spot_model.runs_on(asked.pod, name, labels)
                is_now = spot_model.runs_on(patched, name, labels)
                if found.capacity_class == "spot" or found.pin or kept:
                    assert is_now == was
                else:
                    assert is_now == (was and capacity == "on-demand")
                if found.pin == "od" or kept:
                    assert not was or capacity == "on-demand"


@given(questions)
def test_a_patch_says_in_the_pod_what_was_decided(asked: Asked) -> None:
    found = asked.patch(asked.pod)
    patched = applied(asked.pod, found)

    word = {"od": "on-demand", "spot": "spot"}[found.capacity_class]
    before = (asked.pod.get("metadata") or {}).get("annotations") or {}
    after = patched["metadata"].get("annotations") or {}
    assert patched["metadata"]["labels"]["distributed-scheduling/desired-capacity"] == word
    if asked.mode in ("single_sts", "ordinal"):
        assert after == before
        return
    assert after[RESERVATION] == "r1"
    expected = before.get(COST)
    if found.capacity_class == "od" and before.get(RESERVATION) != "r1":
        expected = raised(expected).text or expected
    assert after.get(COST) == expected


@given(questions)
def test_what_the_user_wrote_is_still_there(asked: Asked) -> None:
    found = asked.patch(asked.pod)
    patched = applied(asked.pod, found)

    changed = {COST, RESERVATION, "distributed-scheduling/desired-capacity"}
    assert_within(asked.pod, patched, changed)
    wanted = [one for n, one in enumerate(asked.tolerations) if one not in asked.tolerations[:n]]
    before = (asked.pod.get("spec") or {}).get("tolerations") or []
    missing = [one for one in wanted if one not in before]
    unpinned_spot = found.capacity_class == "spot" and found.pin is None
    after = (patched.get("spec") or {}).get("tolerations") or []
    assert after == before + (missing if unpinned_spot else [])


def assert_within(given: Any, patched: Any, changed: set[str]) -> None:
    """Everything that was there is there, at its place; lists may have grown at their end."""
    if isinstance(given, dict):
        for name, value in given.items():
            if name not in changed and value is not None:
                assert_within(value, patched[name], changed)
    elif isinstance(given, list):
        for was, is_now in zip(given, patched, strict=False):
            assert_within(was, is_now, changed)
        assert len(patched) >= len(given)
    else:
        assert patched == given


@given(pods)
def test_a_pin_is_what_trying_every_value_finds(pod: dict[str, Any]) -> None:
    assert user_pin(pod, LABEL) == spot_model.pin(pod, LABEL.key, "on-demand", EVERY_VALUE)


@given(some(terms), st.sampled_from(["n1", "n3"]), st.lists(st.sampled_from(VALUES), max_size=2))
def test_a_selector_matches_the_nodes_that_the_model_matches(
    given_terms: list[Any], name: str, values: list[str]
) -> None:
    labels = dict(zip(KEYS, values, strict=False))
    required = {"nodeSelectorTerms": given_terms}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}

    matching = matching_term(read_terms(given_terms, at="terms"), Node(name, labels))

    expected = spot_model.runs_on({"spec": {"affinity": affinity}}, name, labels)
    assert (matching is not None) == expected


# Scaling down

active_pods = st.builds(
    ActivePod,
    assigned=st.booleans(),
    phase=st.sampled_from(["Pending", "Unknown", "Running"]),
    ready=st.booleans(),
    deletion_cost=st.integers(-1, 1),
    same_node_rank=st.integers(1, 2),
    ready_for=st.one_of(st.none(), st.integers(0, 5)),
    restarts=st.integers(0, 1),
    sidecar_restarts=st.integers(0, 1),
    age=st.one_of(st.none(), st.integers(0, 5)),
    uid=st.sampled_from(["", "a", "b", "\uffff", "\U00010000"]),
)


def goes_first(one: ActivePod, other: ActivePod) -> int:
    """The criteria one after the other, as a controller would ask them."""

    def lower(left: Any, right: Any) -> int:
        return int(left > right) - int(left < right)

    def log2(span: int | None) -> int:
        return -2 if span is None else max(k for k in range(-1, 64) if 2**k <= span or k == -1)

    phases = ["Pending", "Unknown", "Running"]
    answers = [
        lower(one.assigned, other.assigned),
        lower(phases.index(one.phase), phases.index(other.phase)),
        lower(one.ready, other.ready),
        lower(one.deletion_cost, other.deletion_cost),
        lower(other.same_node_rank, one.same_node_rank),
        one.ready and other.ready and lower(log2(one.ready_for), log2(other.ready_for)),
        lower(other.restarts, one.restarts),
        lower(other.sidecar_restarts, one.sidecar_restarts),
        lower(log2(one.age), log2(other.age)),
        lower(one.uid.encode(), other.uid.encode()),
    ]
    return next((int(answer) for answer in answers if answer), 0)


@given(st.lists(active_pods, max_size=6))
def test_pods_are_deleted_in_the_order_that_asking_pair_by_pair_gives(
    active: list[ActivePod],
) -> None:
    assert deletion_order(active) == sorted(active, key=cmp_to_key(goes_first))
    assert {*map(turn, deletion_order(active[::-1]))} == {*map(turn, active)}


phases: st.SearchStrategy[Phase] = st.just("Running")
costs = st.one_of(st.none(), st.integers(-(2**31), 2**31 - 2).map(str))


@given(costs, st.lists(st.tuples(classes, active_pods), min_size=1, max_size=6), phases)
def test_among_ready_pods_of_one_template_no_on_demand_pod_goes_before_a_spot_pod(
    template_cost: str | None, drawn: list[tuple[CapacityClass, ActivePod]], phase: Phase
) -> None:
    cost = {
        "spot": read_deletion_cost(template_cost).cost,
        "od": read_deletion_cost(raised(template_cost).text).cost,
    }
    ready = [
        replace(pod, assigned=True, phase=phase, ready=True, deletion_cost=cost[kind])
        for kind, pod in drawn
    ]

    gone = [pod.deletion_cost for pod in deletion_order(ready)]

    assert gone == sorted(gone)
    assert cost["spot"] < cost["od"]


@given(st.one_of(st.integers(-(2**32), 2**32).map(str), st.text("0123456789-+ ", max_size=4)))
def test_a_deletion_cost_is_a_number_as_kubernetes_would_write_it(text: str) -> None:
    read = read_deletion_cost(text)

    digits = text.removeprefix("-")
    decimal = digits.isascii() and digits.isdigit()
    padded = digits[:1] == "0" and text != "0" and not text.startswith("-")
    valid = decimal and not padded and -(2**31) <= int(text) < 2**31
    assert read.valid == valid
    assert read.cost == (int(text) if valid else 0)
