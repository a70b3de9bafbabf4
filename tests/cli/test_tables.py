"""What producers wrote is shown as they wrote it."""

import pytest
from rich.table import Table

from ledger.cli.database import complain
from ledger.cli.tables import print_table

TEXTS = ["[/x]", "data.clusters[red]", "a :bug: in it", "\\[bold]", "no end of it " * 20 + "."]


@pytest.mark.parametrize("text", TEXTS)
def test_a_table_in_a_pipe_shows_every_text_as_it_is_on_one_line(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Table("number", "detail", box=None, pad_edge=False)
    table.add_row("7", text)

    print_table(table)

    _, row = capsys.readouterr().out.splitlines()
    assert row.rstrip().split(maxsplit=1) == ["7", text]


@pytest.mark.parametrize("text", TEXTS)
def test_a_complaint_is_told_in_the_words_it_has(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    complain(text)

    assert capsys.readouterr().err == f"ledger: {text}\n"
