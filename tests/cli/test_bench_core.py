"""``ledger bench core`` measures what it says. How fast the core is, is asked by running it."""

import json
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from math import log
from typing import Any

import pytest
from typer.testing import CliRunner

from ledger.cli.bench.core import FEWEST_READINGS, fitted_exponent, of_case, of_growth
from ledger.cli.bench.core_case import Asking, Case, Growth
from ledger.cli.bench.core_cases import CASES, GROWTHS
from ledger.cli.bench.main import app
from ledger.cli.commands import as_asked

LIMITS = {"case", "about", "median_ms", "lowest_ms", "highest_ms", "readings", "at_most_ms", "kept"}
SLOPES = {"growth", "about", "sizes", "median_ms", "exponent", "exponent_of_n_log_n", "kept"}


def counting(*, steps: int = 1) -> Callable[[], Asking]:
    return lambda: lambda: sum(range(steps))


def case(*, at_most_ms: int, units: int = 1) -> Case:
    return Case(
        "count", "count to ten thousand", counting(steps=10_000), Fraction(at_most_ms), units
    )


def test_a_reading_is_a_cold_one() -> None:
    prepared: list[int] = []
    asked: list[int] = []

    def prepare() -> Asking:
        prepared.append(0)
        return lambda: asked.append(len(prepared))

    found = of_case(Case("cold", "", prepare, Fraction(1_000)), seconds=0)

    assert found["readings"] == FEWEST_READINGS
    assert asked == list(range(1, FEWEST_READINGS + 2))  # the first one only loads what is needed


def test_a_limit_is_kept_or_missed() -> None:
    kept = of_case(case(at_most_ms=60_000), seconds=0)
    missed = of_case(case(at_most_ms=0), seconds=0)

    assert kept.keys() >= LIMITS
    assert kept["kept"] is True
    assert missed["kept"] is False
    assert 0 < kept["lowest_ms"] <= kept["median_ms"] <= kept["highest_ms"]


def test_a_reading_is_divided_by_its_units() -> None:
    whole = of_case(case(at_most_ms=1), seconds=0)
    each = of_case(case(at_most_ms=1, units=1_000), seconds=0)

    assert each["median_ms"] < whole["median_ms"] / 100


@pytest.mark.parametrize("power", [0, 1, 2])
def test_the_exponent_of_a_power_is_found(power: int) -> None:
    sizes = (100, 200, 400, 800)

    assert fitted_exponent(sizes, [7 * size**power for size in sizes]) == pytest.approx(power)


def test_n_log_n_is_a_little_more_than_linear() -> None:
    sizes = (1_000, 2_000, 4_000, 8_000)

    assert 1.1 < fitted_exponent(sizes, [size * log(size) for size in sizes]) < 1.2


def test_cost_that_grows_with_the_square_is_found_out() -> None:
    sizes = (200, 400, 800, 1_600)
    linear = Growth("linear", "", lambda size: counting(steps=100 * size)(), sizes)
    square = Growth("square", "", lambda size: counting(steps=size * size)(), sizes)

    assert of_growth(linear, seconds=0).keys() >= SLOPES
    assert of_growth(linear, seconds=0)["kept"] is True
    assert of_growth(square, seconds=0)["kept"] is False


@pytest.mark.parametrize("asked", CASES, ids=lambda asked: asked.name)
def test_every_case_can_be_asked(asked: Case) -> None:
    asked.prepare()()

    assert asked.about
    assert asked.at_most_ms > 0
    assert asked.units > 0


@pytest.mark.parametrize("asked", GROWTHS, ids=lambda asked: asked.name)
def test_every_growth_has_sizes_that_tell_n_log_n_from_more(asked: Growth) -> None:
    asked.prepare(asked.sizes[0])()

    assert asked.about
    assert list(asked.sizes) == sorted(set(asked.sizes))
    assert asked.sizes[-1] >= 8 * asked.sizes[0]


def test_no_name_is_given_twice() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert len({growth.name for growth in GROWTHS}) == len(GROWTHS)


def bench(*words: str) -> tuple[int, list[dict[str, Any]]]:
    done = CliRunner().invoke(app, ["core", "--seconds", "0.001", *words])
    return done.exit_code, [json.loads(line) for line in done.stdout.splitlines()]


def test_a_case_prints_a_line_and_so_does_its_growth() -> None:
    name = CASES[0].name

    code, (said, *growths) = bench("--case", name)

    assert code == 0
    assert [one["growth"] for one in growths] == [one.name for one in GROWTHS if one.name == name]
    assert said.keys() >= LIMITS | {"bench", "python", "python_optimized", "cores", "load_before"}
    assert (said["bench"], said["case"]) == ("core", name)


def test_a_case_that_there_is_not_is_said_so() -> None:
    words = ["bench", "core", "--case", "nothing"]
    done = CliRunner().invoke(as_asked(words), words)

    assert done.exit_code == 64
    assert "no case nothing" in done.stderr


WITH_A_LIMIT = """
import sys
from fractions import Fraction
from ledger.cli.bench import core_cases
from ledger.cli.bench.core_case import Case
from ledger.cli.bench.main import app

core_cases.CASES = (Case("count", "", lambda: lambda: sum(range(1000)), Fraction(sys.argv.pop())),)
core_cases.GROWTHS = ()
app()
"""


@pytest.mark.parametrize(
    ("limit", "words", "code"),
    [("0", [], 0), ("0", ["--check"], 1), ("60000", ["--check"], 0)],
)
def test_a_missed_limit_counts_where_that_is_asked_for(
    limit: str, words: list[str], code: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITH_A_LIMIT, "core", "--seconds", "0.001", *words, limit],
        capture_output=True,
        check=False,
    )

    assert done.returncode == code, done.stderr.decode()
    assert json.loads(done.stdout)["kept"] is (limit != "0")
