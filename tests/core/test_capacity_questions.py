"""The door to capacity: what a question may leave out, what is refused, what a person is told."""

import json
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from ledger.cli.solve.asking import Op, Refused
from ledger.cli.solve.capacity_questions import MOST_PLANS, OPS
from ledger.errors import InvalidRequest

BY_NAME: dict[str, Op[Any]] = {op.name: op for op in OPS}


def ask(op: str, **given: Any) -> dict[str, Any]:
    """The answer; an error is its code."""
    try:
        question = BY_NAME[op].question.model_validate(given)
        answer = dict(BY_NAME[op].answer(question))
        assert BY_NAME[op].explain(question).strip()
    except ValidationError:
        return {"error": "invalid_request"}
    except (InvalidRequest, Refused) as refused:
        return {"error": refused.code}
    written: dict[str, Any] = json.loads(json.dumps(answer))
    return written


def explain(op: str, **given: Any) -> str:
    return BY_NAME[op].explain(BY_NAME[op].question.model_validate(given))


def test_what_is_left_out_has_its_default() -> None:
    answer = ask("capacity.cpu", cpu_map={"0": 100, "1": None}, cpu=1, numa=None, origin={})

    assert answer["capacity"] == 1
    assert answer["plans"] == [{"numa": "", "cores": {"0": 100}}]
    assert answer["plans_left_out"] == 0


@pytest.mark.parametrize("cpu", [2, "2", "2.0", Decimal("2.0"), Decimal("0.2E1")])
def test_cpu_is_an_exact_decimal_however_it_is_written(cpu: object) -> None:
    assert ask("request.normalize", cpu_request=cpu)["cpu_request"] == "2"


@pytest.mark.parametrize("cpu", [True, "1/2", "1e3", "", "two", " 1", Decimal("1E+999999"), [1, 2]])
def test_anything_else_is_no_cpu(cpu: object) -> None:
    assert ask("request.normalize", cpu_request=cpu) == {"error": "invalid_request"}


@pytest.mark.parametrize("cpu", [True, "1/2", Decimal("1E+999999"), [1, 2]])
def test_who_wrote_no_cpu_is_told_how_one_is_written(cpu: object) -> None:
    with pytest.raises(ValidationError, match=r'must be a decimal \(2, 0\.5 or "0\.5"\)'):
        BY_NAME["request.normalize"].question.model_validate({"cpu_request": cpu})


def test_cpu_is_answered_as_a_decimal() -> None:
    answer = ask("request.normalize", cpu_request="0.05", cpu_limit="12.50")

    assert (answer["cpu_request"], answer["cpu_limit"]) == ("0.05", "12.5")


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("capacity.cpu", {"cpu_map": {"0": 100}, "cpu": "0.005"}, "invalid_cpu"),
    ("capacity.cpu", {"cpu_map": {"0": 100}, "cpu": "-1"}, "invalid_cpu"),
    ("capacity.cpu", {"cpu_map": {"0": 100}, "cpu": "1", "mem_request": -1}, "invalid_memory"),
    ("capacity.cpu", {"cpu_map": {"0": 100}, "cpu": "1", "share_base": 0}, "invalid_request"),
    ("capacity.cpu", {"cpu_map": {"0": 100}, "cpu": "1", "max_share": -2}, "invalid_request"),
    ("capacity.cpu", {"cpu_map": {"0": True}, "cpu": "1"}, "invalid_request"),
    ("capacity.cpu", {"cpu_map": {"0": Decimal("1.0")}, "cpu": "1"}, "invalid_request"),
    ("capacity.cpu", {"cpu_map": {"0": 100}, "cpu": "1", "used": {"0": -1}}, "invalid_request"),
    ("capacity.cpu", {"cpu": "1"}, "invalid_request"),
    (
        "capacity.memory",
        {"cores": 1, "memory_available": 1, "memory_request": -1},
        "invalid_memory",
    ),
    ("capacity.memory", {"cores": 1, "memory_available": 1, "cpu_request": -1}, "invalid_cpu"),
    ("capacity.memory", {"cores": -1, "memory_available": 1}, "invalid_request"),
    ("capacity.storage", {"storage_available": 1, "storage_request": -1}, "invalid_storage"),
    ("capacity.storage", {"storage_available": 1, "volume_request_total": -1}, "invalid_request"),
    ("capacity.volume", {"vol_capacity": {}, "requests": ["AUTO:/a"]}, "invalid_request"),
    (
        "capacity.volume",
        {"vol_capacity": {}, "requests": ["AUTO:/a:rw:0:1:0:0:0"], "max_deploy": 1},
        "invalid_request",
    ),
    (
        "capacity.volume",
        {"vol_capacity": {}, "requests": ["AUTO:/a:rw:x"], "max_deploy": 1},
        "invalid_volume",
    ),
    ("capacity.merge", {"resources": [{"n": "many"}]}, "invalid_request"),
    ("capacity.remap", {"capacity": {"0": -1}}, "invalid_request"),
    (
        "capacity.realloc",
        {"node": {"cpu_map": {}}, "origin": {}, "delta": {"cpu_bind": True}},
        "invalid_cpu",
    ),
    (
        "capacity.realloc",
        {"node": {"cpu_map": {}}, "origin": {"cpu_request": 1}, "delta": {"cpu_bind": True}},
        "insufficient_resource",
    ),
    (
        "capacity.realloc",
        {"node": {"cpu_map": {}}, "origin": {"cpu_request": 1}},
        "insufficient_capacity",
    ),
    ("request.normalize", {"cpu_bind": 1}, "invalid_request"),
    ("request.normalize", {"storage_limit": -1}, "invalid_storage"),
    ("request.normalize", {"volumes_request": [], "volumes_limit": ["AUTO:/a"]}, "invalid_volume"),
]


@pytest.mark.parametrize(("op", "given", "code"), REFUSED)
def test_a_question_is_refused_by_its_code(op: str, given: dict[str, Any], code: str) -> None:
    assert ask(op, **given) == {"error": code}


def test_a_short_question_gets_no_endless_answer() -> None:
    cpu = ask("capacity.cpu", cpu_map={"0": 2**80, "1": 2**81}, cpu="0.01")
    volume = ask(
        "capacity.volume", vol_capacity={"/d": 2**80}, requests=["AUTO:/a:rw:1"], max_deploy=2**70
    )
    unlimited = ask(
        "capacity.volume", vol_capacity={"/d": 1}, requests=["AUTO:/a"], max_deploy=2**70
    )

    assert cpu["capacity"] == 2**80 + 2**81
    assert volume["capacity"] == unlimited["capacity"] == 2**70
    for answer in (cpu, volume, unlimited):
        assert len(answer["plans"]) == MOST_PLANS
        assert answer["plans_left_out"] == answer["capacity"] - MOST_PLANS


def test_infinite_is_a_word() -> None:
    assert ask("capacity.memory", cores=1, memory_available=-5) == {"capacity": "infinite"}
    assert ask("capacity.storage", storage_available=-5) == {"capacity": "infinite"}
    mounts = ask("capacity.volume", vol_capacity={}, requests=["/a:/a"], max_deploy=3)
    assert (mounts["capacity"], mounts["plans"]) == ("infinite", [])
    merged = ask("capacity.merge", resources=[{"n1": 2**63, "n2": "infinite", "n3": None}])
    assert merged == {
        "capacity": {"n1": "infinite", "n2": "infinite"},
        "total": "infinite",
        "lacking": {},
    }


def test_quotas_of_hard_mounts_are_not_looked_at() -> None:
    answer = ask(
        "capacity.volume",
        vol_capacity={"/d": 4},
        requests=["/x:/x:rw:1:9:9:9:9", "AUTO:/a:rw:2"],
        max_deploy=9,
    )

    assert answer["capacity"] == 2


def test_what_is_used_is_taken_off_core_by_core() -> None:
    answer = ask("capacity.cpu", cpu_map={"0": 100, "1": 100}, used={"1": 150, "9": 5}, cpu="1")

    assert answer["plans"] == [{"numa": "", "cores": {"0": 100}}]


def test_a_workload_that_is_null_is_not_there() -> None:
    answer = ask("capacity.remap", capacity={"0": 100}, workloads={"a": None, "b": {}})

    assert answer == {"share_cores": ["0"], "remapped": ["b"]}


def test_a_person_reads_equal_plans_once() -> None:
    few = explain("capacity.cpu", cpu_map={"0": 100, "1": 25}, cpu="0.25")
    many = explain("capacity.cpu", cpu_map={"0": 2**70}, cpu="0.25")

    assert few.endswith("In order:\n  1 x 25 of core 1\n  4 x 25 of core 0")
    assert many.endswith("The first 10:\n  10 x 25 of core 0")


def test_a_person_is_told_the_arithmetic() -> None:
    cpu = explain("capacity.cpu", cpu_map={"0": 100, "1": 100, "2": 50}, cpu="1.2", mem_request=1)
    volume = explain(
        "capacity.volume",
        vol_capacity={"/a": 10, "/b": 20},
        requests=["AUTO:/n:rw:4", "AUTO:/m:rwm:5", "AUTO:/u"],
        max_deploy=5,
    )
    memory = explain("capacity.memory", cores=1, memory_available=9, memory_request=4)
    merged = explain("capacity.merge", resources=[{"n1": 3, "n2": 1}, {"n1": "infinite"}])

    assert "Full cores 2, fragment cores 1." in cpu
    assert "Memory serves 0." in cpu
    assert "these were put to use: /a" in volume
    assert "which then has most room" in volume
    assert memory == "2: 9 memory free / 4 each, rounded down."
    assert "n1: 3, the least of 3, infinite" in merged
    assert "n2: left out, it has nothing of resource 2" in merged
