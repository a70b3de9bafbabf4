"""docs/operating-kafka.md lists every setting and every reason to halt, as the code has them."""

from pathlib import Path
from typing import get_args

from consumers import subscription
from consumers.settings import Settings
from ledger.log.receipts import HaltReason

PAGE = (Path(__file__).parents[2] / "docs" / "operating-kafka.md").read_text()


def test_every_setting_is_listed_with_its_default_and_meaning() -> None:
    for name, field in Settings.model_fields.items():
        default = "" if field.default is None else f"`{field.default}`"
        meaning = " ".join((field.description or "").split())
        assert f"| `LEDGER_{name.upper()}` | {default} | {meaning} |" in PAGE


def test_no_setting_is_listed_that_there_is_not() -> None:
    listed = {line.split("`")[1] for line in PAGE.splitlines() if line.startswith("| `LEDGER_")}

    assert listed == {f"LEDGER_{name.upper()}" for name in Settings.model_fields}


def test_every_reason_to_halt_is_told_with_what_to_do() -> None:
    for reason in get_args(HaltReason):
        assert f"\n| `{reason}` | " in PAGE


def test_every_topic_is_listed() -> None:
    for topic in subscription.topics(""):
        assert f"| `ledger.{topic.name}` | " in PAGE
