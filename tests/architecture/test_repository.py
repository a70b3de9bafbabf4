"""The repository keeps its own rules: what lies where, and what no file may hold.

Looked at is what git tracks, so that somebody's notes beside it are nobody's business.
"""

import ast
import os
import re
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]

TOP_LEVEL = {
    *(".ci", ".gitignore", "CHANGELOG.md", "LICENSE", "README.md", "bench", "compose.yaml"),
    *("consumers", "docs", "ledger", "migrations", "pyproject.toml", "requirements.lock.txt"),
    *("tests", "try"),
}

MACHINE_PATH = re.compile(r"(?:^|[ \"'=(:])/(?:home|root|work)/\w")
NEIGHBOUR = "../" + "shared"  # in two halves, so that this file does not hold what it looks for


@cache
def tracked() -> tuple[PurePosixPath, ...]:
    """What git tracks, as it lies in the checkout now."""
    try:
        said = subprocess.run(
            # Whose checkout it is does not matter for reading a list of names.
            ["git", "-c", "safe.directory=*", "ls-files", "-z"],
            cwd=REPOSITORY,
            capture_output=True,
            check=True,
        ).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout, or no git to ask")
    names = filter(None, said.split("\0"))
    return tuple(PurePosixPath(name) for name in names if REPOSITORY.joinpath(name).is_file())


def python_files(*rooms: str) -> Iterator[tuple[PurePosixPath, ast.Module]]:
    for file in tracked():
        if file.suffix == ".py" and file.parts[0] in rooms:
            yield file, ast.parse(REPOSITORY.joinpath(file).read_bytes())


def texts() -> Iterator[tuple[PurePosixPath, str]]:
    for file in tracked():
        data = REPOSITORY.joinpath(file).read_bytes()
        if b"\0" not in data:
            yield file, data.decode()


def settings() -> dict[str, Any]:
    return tomllib.loads(REPOSITORY.joinpath("pyproject.toml").read_text(encoding="utf-8"))


def project_name(requirement: str) -> str:
    """The name in a requirement, in the one spelling that index and lock file use."""
    name = re.match(r"[\w.-]+", requirement)
    assert name is not None, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def lock_file() -> str:
    return REPOSITORY.joinpath("requirements.lock.txt").read_text(encoding="utf-8")


def test_nothing_lies_outside_the_rooms() -> None:
    assert {file.parts[0] for file in tracked()} <= TOP_LEVEL


def test_every_module_says_what_it_is_for() -> None:
    rooms = ("bench", "consumers", "ledger", "migrations", "tests")

    silent = [str(file) for file, module in python_files(*rooms) if not ast.get_docstring(module)]

    assert not silent


def test_no_package_hands_on_the_names_of_its_modules() -> None:
    for file, module in python_files("consumers", "ledger"):
        if file.name != "__init__.py":
            continue
        beside_docstring = [ast.unparse(statement) for statement in module.body[1:]]
        if file == PurePosixPath("ledger/__init__.py"):
            assert all(line.startswith("__version__ = ") for line in beside_docstring)
        else:
            assert not beside_docstring, file


def test_the_same_words_stand_in_the_same_order_wherever_they_are_listed() -> None:
    """``Literal["a", "b"] | None`` is whichever was made first of those that list a and b.

    Python takes lists of the same words for equal and remembers the first, so that what is generated from
    one of them would depend on who was imported before.
    """
    spellings: dict[frozenset[str], dict[str, str]] = {}
    for file, module in python_files("consumers", "ledger", "tests"):
        for node in ast.walk(module):
            if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal":
                words = frozenset(ast.unparse(node.slice).strip("()").split(", "))
                of_these = spellings.setdefault(words, {})
                of_these.setdefault(ast.unparse(node), f"{file}:{node.lineno}")

    assert len(spellings) > 50
    assert not [found for found in spellings.values() if len(found) > 1]


def test_the_lock_file_names_no_place() -> None:
    assert "://" not in lock_file()


def test_the_lock_file_holds_every_package_the_project_names() -> None:
    project = settings()["project"]
    wanted = [
        *project["dependencies"],
        *(one for extra in project["optional-dependencies"].values() for one in extra),
        *settings()["dependency-groups"]["dev"],
    ]

    locked = set(re.findall(r"^([a-z0-9-]+)==", lock_file(), re.MULTILINE))

    assert {project_name(requirement) for requirement in wanted} <= locked


def test_every_locked_package_has_hashes() -> None:
    pinned = re.findall(r"^[a-z0-9-]+==.*(?:\n +.*)*", lock_file(), re.MULTILINE)

    assert pinned
    assert all("--hash=sha256:" in package for package in pinned)


def test_no_file_speaks_of_somebodys_machine() -> None:
    found = [
        f"{file}:{number}: {line.strip()[:80]}"
        for file, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if MACHINE_PATH.search(line)
    ]

    assert not found


def test_only_the_checks_look_beside_the_checkout() -> None:
    mentions = {str(file) for file, text in texts() if NEIGHBOUR in text}

    assert mentions <= {".ci/run"}


def test_what_is_called_as_a_command_can_be() -> None:
    for command in ("try", ".ci/run"):
        assert os.access(REPOSITORY / command, os.X_OK), command


def test_the_changelog_has_a_place_for_the_next_line() -> None:
    changelog = REPOSITORY.joinpath("CHANGELOG.md").read_text(encoding="utf-8")

    assert "\n## [Unreleased]\n" in changelog


def test_the_index_lists_every_design_decision() -> None:
    folder = REPOSITORY / "docs/adr"
    listed = re.findall(r"\(([^)]+\.md)\)", folder.joinpath("index.md").read_text(encoding="utf-8"))

    written = sorted(file.name for file in folder.glob("[0-9]*.md"))

    assert listed == written


def test_every_design_decision_says_what_would_undo_it() -> None:
    for file in REPOSITORY.glob("docs/adr/[0-9]*.md"):
        assert "would change our mind" in file.read_text(encoding="utf-8"), file.name


def test_python_checks_what_is_asserted() -> None:
    # Not an assert itself: under -O it would be the first to go.
    if not __debug__:
        pytest.fail("run without -O and PYTHONOPTIMIZE: the ledger relies on its assertions")
