"""``ledger solve`` as a process: streams, files, signals and exit codes. Nothing here needs a server."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from ledger.cli.commands import as_asked
from ledger.cli.solve.catalogue import CATALOGUE
from ledger.cli.solve.reading import LONGEST_LINE
from ledger.events.contract import without_nulls
from tests.vectors.test_core_vectors import FACTS, Fact

COMMAND = (sys.executable, "-m", "ledger.cli.main", "solve")
DRAW = b'{"id": "d", "op": "lot.draw", "input": {"weights": {"a": 1}, "draws": 1}}'


def solve(
    *words: str, stdin: bytes = b"", code: int = 0, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(
        [*COMMAND, *words],
        input=stdin,
        env=os.environ | environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == code, done.stderr.decode()
    return done


def is_drawn(line: bytes) -> bool:
    answer = json.loads(line)
    return answer["id"] == "d" and "error" not in answer and answer["result"]["draw_order"] == ["a"]


@contextmanager
def conversation() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def ask(process: subprocess.Popen[bytes], line: bytes) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line + b"\n")
    process.stdin.flush()
    return process.stdout.readline()


def test_each_answer_comes_before_the_next_question() -> None:
    with conversation() as process:
        first = ask(process, DRAW)
        second = ask(process, b"nonsense")
        third = ask(process, DRAW)
        assert process.stdin is not None
        process.stdin.close()
        code = process.wait()

    assert is_drawn(first)
    assert third == first
    assert json.loads(second)["error"]["code"] == "invalid_json"
    assert code == 0


def test_a_line_that_says_nothing_sensible_costs_the_others_nothing() -> None:
    lines = [DRAW, b"{", b"", b"\xff\xfe", b"[1]", DRAW + b"\r", b" ", b'{"id": 3}', DRAW]

    done = solve(stdin=b"\n".join(lines))

    answers = done.stdout.splitlines()
    assert len(answers) == 7
    assert list(map(is_drawn, answers)) == [True, *[False] * 3, True, False, True]
    assert done.stderr == b""


def test_nothing_asked_is_nothing_answered() -> None:
    assert solve().stdout == b""


def test_files_are_read_one_after_the_other(tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.write_bytes(b"\xef\xbb\xbf" + DRAW)  # as editors on Windows begin a file
    second.write_bytes(b"\xef\xbb\xbf\r\n" + DRAW + b"\r\n\xef\xbb\xbf" + DRAW)

    done = solve(str(first), "-", str(second), stdin=b"{\n")

    answers = done.stdout.splitlines()
    assert list(map(is_drawn, answers)) == [True, False, True, False]


@pytest.mark.parametrize("name", ["none", "folder"])
def test_a_file_that_cannot_be_read_is_named_in_one_line(tmp_path: Path, name: str) -> None:
    tmp_path.joinpath("folder").mkdir()
    file = str(tmp_path / name)

    done = solve("-", file, stdin=DRAW, code=78)

    assert is_drawn(done.stdout)
    assert done.stderr.decode().startswith(f"ledger: {file}: ")
    assert done.stderr.count(b"\n") == 1


def test_a_line_too_long_to_hold_is_refused_and_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "long.jsonl"
    file.write_bytes(b'"' + b"x" * (2 * LONGEST_LINE) + b'"\n' + DRAW + b"\n" + DRAW[:-1])

    refused, drawn, unread = solve(str(file)).stdout.splitlines()

    assert json.loads(refused)["error"]["code"] == "invalid_request"
    assert is_drawn(drawn)
    assert json.loads(unread)["error"]["code"] == "invalid_json"


def test_who_has_read_enough_hears_no_complaint() -> None:
    with conversation() as process:
        ask(process, DRAW)
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(DRAW + b"\n")
        process.stdin.close()
        complaint = process.stderr.read()
        code = process.wait()

    assert complaint == b""
    assert code == 128 + signal.SIGPIPE


def test_an_interrupt_ends_it_without_a_word() -> None:
    with conversation() as process:
        ask(process, DRAW)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        complaint = process.stderr.read()
        code = process.wait()

    assert complaint == b""
    assert code == 128 + signal.SIGINT


def test_a_full_disk_is_said_and_counts() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(COMMAND, input=DRAW, stdout=full, stderr=subprocess.PIPE, check=False)

    assert done.returncode == 74
    assert done.stderr == b"ledger: writing: No space left on device\n"


def test_who_types_questions_is_told_how_to_end() -> None:
    keyboard, terminal = pty.openpty()
    os.write(keyboard, b"\x04")

    done = subprocess.run(COMMAND, stdin=terminal, capture_output=True, check=False)

    os.close(keyboard)
    os.close(terminal)
    assert done.returncode == 0
    assert done.stderr == b"ledger: one question a line; Ctrl-D ends\n"


WITH_A_MISTAKE = """
from ledger.cli.commands import as_asked
from ledger.cli.solve import main
from ledger.cli.solve.asking import Op, Question
from ledger.cli.solve.catalogue import Catalogue

def fail(asked):
    raise ValueError("on purpose")

op = Op("toy.fail", "fail", Question, fail, str)
main.CATALOGUE = Catalogue({**main.CATALOGUE.systems, "toy": lambda: (op,)})
as_asked(["solve"])(["solve"])
"""


def test_a_mistake_of_ours_is_answered_told_aloud_and_in_the_exit_code() -> None:
    lines = b'\n{"id": 1, "op": "toy.fail", "input": {}}\n' * 2 + DRAW

    done = subprocess.run(
        [sys.executable, "-c", WITH_A_MISTAKE], input=lines, capture_output=True, check=False
    )

    failed, _, drawn = done.stdout.splitlines()
    assert json.loads(failed)["error"]["code"] == "internal_error"
    assert is_drawn(drawn)
    assert done.returncode == 70
    assert done.stderr.startswith(b"ledger: -:2: Traceback (most recent call last):\n")
    assert done.stderr.count(b"Traceback") == 1
    assert done.stderr.endswith(b"\nledger: -:4: ValueError: on purpose\n")


def test_no_database_is_even_loaded() -> None:
    script = (
        "import atexit, sys\n"
        "from ledger.cli.main import main\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        "sys.argv[1:] = ['solve']\n"
        "main()\n"
    )
    environment = os.environ | {"LEDGER_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}

    done = subprocess.run(
        [sys.executable, "-c", script],
        input=DRAW,
        env=environment,
        capture_output=True,
        check=False,
    )

    assert is_drawn(done.stdout)
    loaded = {name.partition(".")[0] for name in done.stderr.decode().split()}
    assert "pydantic" in loaded
    assert loaded & {"aiokafka", "alembic", "asyncpg", "consumers", "sqlalchemy"} == set()


def test_words_for_people() -> None:
    told = solve("--explain", stdin=DRAW).stdout.decode()

    assert told.startswith("d  lot.draw\n")
    assert not told.startswith("d  lot.draw\n{")


def test_numbers_longer_than_python_likes_are_told_in_full() -> None:
    total = {str(step): 10**999 + 2 * step + 1 for step in range(9)}
    asked = {"alpha": "1/2", "total": total, "usable": dict.fromkeys(total, 1)}
    question = {"op": "disk.balance_score", "input": asked}

    told = solve("--explain", stdin=json.dumps(question).encode()).stdout.decode()

    assert max(map(len, re.findall(r"[0-9]+", told))) > 4_300


def test_all_that_can_be_asked_is_listed() -> None:
    lines = solve("--list").stdout.decode().splitlines()

    assert [line.split("  ")[0] for line in lines] == [op.name for op in CATALOGUE.ops()]
    assert all(line.split("  ", 1)[1].strip() for line in lines)


def test_the_schema_of_an_op_that_is_none_is_not_shown() -> None:
    done = solve("--schema", "lot.drow", code=64)

    assert done.stderr == b'ledger: there is no op "lot.drow"; did you mean lot.draw?\n'
    assert done.stdout == b""


@pytest.mark.parametrize("op", [op.name for op in CATALOGUE.ops()])
def test_the_schema_of_an_op_accepts_what_is_asked_of_it(op: str) -> None:
    shown = json.loads(CliRunner().invoke(as_asked(["solve"]), ["solve", "--schema", op]).stdout)

    jsonschema.Draft202012Validator.check_schema(shown)
    validator = jsonschema.Draft202012Validator(shown)
    assert shown["title"] == op
    for fact in FACTS:
        if fact["op"] == op and "error" not in fact["expect"] and not other_strategy(fact):
            validator.validate(without_nulls(fact["input"]))


def other_strategy(fact: Fact) -> bool:
    """Whether a last result is told of which only the strategy's name is read, as no schema says."""
    last = fact["input"].get("last") or {}
    return fact["op"] == "division.static" and last.get("strategy") != "StaticWeight" and last != {}
