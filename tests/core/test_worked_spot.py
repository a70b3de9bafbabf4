"""The worked examples in docs/core/spot.md are true: each is read from the page, asked, compared.

The first word of an example says what kind of question it is. What comes out is compared in full,
so an example cannot leave out what would embarrass it.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from ledger.core.spot import slots
from ledger.core.spot.ordinal import Pod, place
from ledger.core.spot.patch import Marks, patch
from ledger.core.spot.repair import proposed_repair
from ledger.core.spot.slots import Admission, Slots, Template
from ledger.core.spot.target import Target, Workload, target
from tests.core.worked import examples, word_by_word

Lines = list[tuple[str, str]]


EXAMPLES = examples("spot.md", reading=word_by_word)


@pytest.mark.parametrize(("asked", "answered"), EXAMPLES)
def test_an_example_comes_out_as_written(asked: Lines, answered: Lines) -> None:
    assert list(ASKED[asked[0][0]](asked)) == answered


def test_every_kind_of_question_has_an_example() -> None:
    assert {example.values[0][0][0] for example in EXAMPLES} == ASKED.keys()


def workload(text: str) -> Workload:
    found = re.fullmatch(r"(\w+) of (\d+) asking (\S+)", text)
    assert found is not None, text
    return Workload(found[1], int(found[2]), found[3])


def ask_target(asked: Lines) -> Iterator[tuple[str, str]]:
    found = target(workload(asked[0][1]))
    yield "pods", str(found.pods)
    yield "mode", found.mode
    if found.flags:
        yield "flags", " ".join(found.flags)


def ask_ordinal(asked: Lines) -> Iterator[tuple[str, str]]:
    found = re.fullmatch(r"(\S+) of (\S+) from (\d+), (\d+) replicas asking (\S+)", asked[0][1])
    assert found is not None, asked
    name, statefulset, start, count, annotation = found.groups()
    due = target(Workload("StatefulSet", int(count), annotation))
    placed = place(Pod(name, statefulset, start=int(start)), due)
    yield "index", str(placed.index)
    yield "class", str(placed.capacity_class)


def ask_steps(asked: Lines) -> Iterator[tuple[str, str]]:
    owner, core = workload(asked[0][1]), Slots()
    for verb, rest in asked[1:]:
        match verb, rest.split():
            case "admit", [uid, template]:
                admitted = slots.admit(core, Admission(uid, template), target(owner))
                core = admitted.slots
                yield uid, told(core, admitted)
            case "replicas", [template, count]:
                core = slots.told_replicas(core, template, int(count))
            case "seen", [name]:
                seen = slots.seen(core, number(core, name))
                core = seen.slots
                if seen.late:
                    yield name, "late_confirmation"
            case "deleted", [name]:
                core = slots.gone(core, number(core, name))
            case "annotate", [annotation]:
                owner = owner.annotated(annotation)
            case "count", [template]:
                yield template, counted(core, core.templates[template], target(owner))
            case _:
                pytest.fail(f"unknown step {verb} {rest}")


def number(core: Slots, name: str) -> int:
    found = core.number(name)
    assert found is not None
    return found


def told(core: Slots, admitted: slots.Admitted) -> str:
    answer = admitted.answer
    assert answer.reservation is not None
    said = [f"{answer.capacity_class} {core.name(answer.reservation)}", *answer.flags]
    if admitted.replayed:
        said.append("replayed")
    if answer.retired:
        said[-1] += ","
        said += ["retired", *map(core.name, answer.retired)]
    return " ".join(said)


def counted(core: Slots, template: Template, due: Target) -> str:
    tally = slots.tally(template, due)
    said = [f"{tally.on_demand} of {tally.live}", f"target {tally.target}"]
    said += [f"deficit {tally.deficit}"] * bool(tally.deficit)
    said += [f"surplus {tally.surplus}"] * bool(tally.surplus)
    repair = proposed_repair(template, due)
    if repair is not None and repair.code == "deficit":
        said.append(f"evict {repair.count} of {' '.join(map(core.name, repair.candidates))}")
    return ", ".join(said)


def ask_patch(asked: Lines) -> Iterator[tuple[str, str]]:
    (_, question), (word, pod) = asked
    assert word == "pod"
    wanted, mode, reservation = question.split()
    arguments: dict[str, Any] = {"wanted": wanted, "mode": mode, "reservation": reservation}
    found = patch(json.loads(pod), marks=Marks(), **arguments)
    if found.flags:
        yield "flags", " ".join(found.flags)
    for place_, add in enumerate(found.adds, 1):
        yield f"add-{place_}", f"{add.path} {json.dumps(add.value)}"


ASKED = {"target": ask_target, "ordinal": ask_ordinal, "steps": ask_steps, "patch": ask_patch}
