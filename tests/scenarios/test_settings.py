"""Every setting of a fleet's policy decides something: on some page, without it other things are decided.

A setting that is accepted, recorded and read by nobody would promise what does not happen.
"""

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from ledger.facts.policy import History, Policy
from tests.scenarios.page import lived

ROOT = Path(__file__).parents[2]
PAGES = [path.read_text("utf-8") for path in sorted(Path(__file__).parent.glob("*.txt"))]

ELSEWHERE = {
    "spot.weight": "tests/api/test_admission.py",
    "spot.tolerations": "tests/api/test_admission.py",
    "placement.max_deploy": "tests/decisions/test_retries.py",
}
"""Settings that no page can show, and what does: the patch of a pod is no decision."""


def settings(section: Any, prefix: str = "") -> Iterator[str]:
    """By their dotted paths; which versions there are is told where one is retired."""
    for setting in fields(section):
        value = getattr(section, setting.name)
        if setting.name == "history":
            yield f"{prefix}{setting.name}"
            value = History()
        if not is_dataclass(value):
            yield f"{prefix}{setting.name}"
        elif setting.name != "algorithms":
            yield from settings(value, f"{prefix}{setting.name}.")


def without(page: str, setting: str) -> str:
    """The page where nobody says anything of the setting."""
    return re.sub(rf"(?m)^(policy .*?) ?\b{re.escape(setting)}=\S+", r"\1", page)


def decided(page: str) -> list[tuple[int, object]]:
    """When, and what."""
    steps = lived(page).steps
    return [(made.position, made.outcome) for step in steps for made in step.decisions]


@pytest.mark.parametrize("setting", sorted({*settings(Policy())} - {*ELSEWHERE}))
def test_without_the_setting_something_else_is_decided(setting: str) -> None:
    told = [page for page in PAGES if without(page, setting) != page]

    assert any(decided(without(page, setting)) != decided(page) for page in told)


@pytest.mark.parametrize(("setting", "where"), sorted(ELSEWHERE.items()))
def test_what_no_page_shows_is_shown_elsewhere(setting: str, where: str) -> None:
    assert setting.rpartition(".")[2] in (ROOT / where).read_text("utf-8")
