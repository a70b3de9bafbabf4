"""The worked audits of docs/audits are true: every command of theirs prints what is shown."""

from pathlib import Path

import pytest

from tests.cli.told_page import SLOWEST, examples, lived, told

PAGES = sorted((Path(__file__).parents[2] / "docs" / "audits").glob("*.md"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
@pytest.mark.timeout(SLOWEST)
async def test_an_audit_comes_out_as_it_is_told(
    path: Path, database_url: str, tmp_path: Path
) -> None:
    await lived(path, database_url)

    told(path, database_url, tmp_path)


def test_there_are_three_and_each_asks_something() -> None:
    assert len(PAGES) >= 3
    assert all(len(list(examples(path.read_text(encoding="utf-8")))) >= 3 for path in PAGES)
