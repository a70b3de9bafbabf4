"""What a benchmark says of the interpreter that measured."""

import platform

import pytest

from ledger.cli.bench.figures import optimized, surroundings


@pytest.mark.parametrize(
    "configured",
    ["'--enable-shared' '--enable-optimizations' '--with-lto'", "--enable-optimizations=yes"],
)
def test_an_interpreter_is_optimized_where_its_own_configuration_says_so(configured: str) -> None:
    assert optimized(configured)


@pytest.mark.parametrize(
    "configured",
    [
        "'--enable-optimizations=no'",
        "'--disable-optimizations'",
        "'--prefix=/opt/--enable-optimizations'",
        "'--enable-shared' '--prefix=/usr'",
        "'it''s torn",
        "",
        None,
    ],
)
def test_what_says_nothing_of_it_is_not_known_to_be_slow(configured: str | None) -> None:
    assert optimized(configured) is None


def test_every_line_says_which_interpreter_measured() -> None:
    said = surroundings("none")

    assert said["python"] == platform.python_version()
    assert said["python_optimized"] in (True, None)
