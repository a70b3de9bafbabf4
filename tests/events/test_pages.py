"""docs/events.md and docs/errors.md say what the code says."""

import inspect
import json
import re
from pathlib import Path
from typing import Any, Final, get_args

import pytest

from ledger import errors
from ledger.cli.run import exit_code
from ledger.errors import InvalidReason, LedgerError
from ledger.events import contract, contract_values, envelope, quantities, strict_json
from ledger.events.codec import Accepted, accept_line
from ledger.events.contracts import control, own, workload
from ledger.events.registry import REGISTRY
from ledger.facts.incident import What
from ledger.facts.policy import Policy, as_plain
from ledger.log.receipts import HaltReason
from ledger.replay.report import Divergence, Report, Trouble
from ledger.units import LARGEST_WHOLE_NUMBER, EventType
from ledger.views.conservation import FINDINGS
from tests.events.samples import ANYTHING

DOCS: Final = Path(__file__).parents[2] / "docs"
EVENTS: Final = (DOCS / "events.md").read_text()
ERRORS: Final = (DOCS / "errors.md").read_text()
SHAPES: Final[dict[str, type[contract.Shape]]] = {
    "Request": workload.Request,
    "Division": workload.Division,
    "Spread": workload.Spread,
    "Deploy": workload.Deploy,
    "Owner": workload.Owner,
    "History": control.History,
    "Toleration": control.Toleration,
    "LastSigned": own.LastSigned,
}


def section(page: str, title: str) -> str:
    """What stands under a heading, up to the next one of whatever level."""
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#+ |\Z)", page, re.DOTALL | re.MULTILINE)
    assert found is not None, f"{title} is not on the page"
    return found[1]


def table(text: str) -> list[list[str]]:
    """The rows of a table, without its head."""
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def documented(title: str) -> dict[str, str]:
    """Fields with their defaults, as the page has them."""
    return {row[0].strip("`"): row[2].strip("`") for row in table(section(EVENTS, title))}


def told(fields: dict[str, Any]) -> dict[str, str]:
    """Fields with their defaults, as a contract has them."""
    found = {}
    for name, field in fields.items():
        if field.is_required():
            found[name] = "required"
        elif field.default_factory is not None or field.default in (None, ""):
            found[name] = ""
        else:
            found[name] = json.dumps(field.default)
    return found


def test_every_type_is_on_the_page_and_no_other() -> None:
    titles = re.findall(r"^### `(.*)`$", EVENTS, re.MULTILINE)

    assert sorted(titles) == sorted(REGISTRY.contracts)


@pytest.mark.parametrize(
    "type_", sorted(REGISTRY.contracts.keys() - {"ledger.policy.policy.changed.v1"})
)
def test_every_field_of_a_type_is_on_the_page(type_: str) -> None:
    assert documented(f"`{type_}`") == told(
        REGISTRY.contracts[EventType(type_)].__pydantic_fields__
    )


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_every_field_of_a_part_is_on_the_page(name: str) -> None:
    assert documented(name) == told(SHAPES[name].__pydantic_fields__)


@pytest.mark.parametrize("type_", sorted(REGISTRY.contracts))
def test_the_subject_of_a_type_is_on_the_page(type_: str) -> None:
    fields = REGISTRY.contracts[EventType(type_)].key_fields
    noun = type_.split(".")[2]
    words = {"name": noun, "owner.name": "owner"}
    subject = "/".join(words.get(field, field) for field in fields)

    expected = f"Subject: `{subject}`." if subject else "Subject: the fleet's name."

    assert expected in section(EVENTS, f"`{type_}`")


def test_every_setting_of_a_policy_is_on_the_page_with_its_default() -> None:
    def leaves(prefix: str, plain: Any) -> dict[str, str]:
        if not isinstance(plain, dict):
            return {prefix.removesuffix("."): json.dumps(plain)}
        return {
            path: default
            for name, entry in plain.items()
            for path, default in leaves(f"{prefix}{name}.", entry).items()
        }

    assert documented("`ledger.policy.policy.changed.v1`") == leaves("", as_plain(Policy()))


def meanings(title: str) -> dict[str, str]:
    """Fields with what they mean, as the page has them."""
    return {row[0].strip("`"): row[3] for row in table(section(EVENTS, title))}


def described(prefix: str, fields: dict[str, Any]) -> dict[str, str]:
    """Fields with what they mean, as a contract has them, and as its schema says it; of sections each setting."""
    found: dict[str, str] = {}
    for name, field in fields.items():
        sections = [
            one
            for one in get_args(field.annotation)
            if inspect.isclass(one) and issubclass(one, control.Section)
        ]
        if sections:
            found |= described(f"{prefix}{name}.", sections[0].__pydantic_fields__)
        else:
            found[f"{prefix}{name}"] = " ".join((field.description or "").split())
    return found


@pytest.mark.parametrize("type_", sorted(REGISTRY.contracts))
def test_what_a_field_means_is_said_on_the_page_as_in_its_schema(type_: str) -> None:
    told = meanings(f"`{type_}`")

    fields = REGISTRY.contracts[EventType(type_)].__pydantic_fields__
    for name, description in described("", fields).items():
        assert name not in told or told[name].startswith(description), name


def test_the_limits_on_the_page_are_the_limits() -> None:
    for limit in (
        f"from 0 to {LARGEST_WHOLE_NUMBER}",
        f"from 0 to {contract_values.MOST_REPLICAS}",
        f"1 to {contract_values.LONGEST_NAME} characters",
        f"at most {contract_values.LONGEST_TEXT} characters",
        f"at most {quantities.LONGEST_TEXT} characters",
        f"at most {contract_values.MOST_ENTRIES:,} entries, an inventory at most {contract_values.MOST_KEYS:,}",
        f"1 to {envelope.LONGEST_ATTRIBUTE} bytes",
        f"nesting over {strict_json.DEEPEST_NESTING} deep",
        f"documents over {strict_json.LARGEST_DOCUMENT // 2**20} MiB",
    ):
        assert limit in EVENTS


def test_the_event_on_the_page_is_accepted() -> None:
    example = re.search(r"```json\n(.*?)```", EVENTS, re.DOTALL)
    assert example is not None

    assert isinstance(accept_line(example[1].encode(), families=ANYTHING), Accepted)


def test_every_link_on_the_pages_leads_somewhere() -> None:
    for page in (EVENTS, ERRORS):
        for target in re.findall(r"\]\(([^)]+)\)", page):
            name, _, anchor = target.partition("#")
            text = (DOCS / name).read_text() if name else page
            titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE) + re.findall(
                r'<a id="(.*)">', text
            )
            assert not anchor or anchor in [title.lower().replace(" ", "-") for title in titles]


def test_every_reason_is_on_the_page_and_no_other() -> None:
    assert [row[0].strip("`") for row in table(section(ERRORS, "Reasons"))] == list(
        get_args(InvalidReason)
    )


def test_every_error_is_on_the_page_with_its_exit_code() -> None:
    defined = {
        name: kind
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, LedgerError)
    }

    rows = {row[0].strip("`"): row[2] for row in table(section(ERRORS, "Errors"))}

    assert rows.keys() == defined.keys()
    for name, code in rows.items():
        if code:
            kind = defined[name]
            assert int(code) == exit_code(kind.__new__(kind)), name


def test_every_reason_for_a_partition_to_stop_is_on_the_page() -> None:
    still = {
        row[0].strip("`") for row in table(section(ERRORS, "Incidents")) if row[1] == "stands still"
    }

    assert still == set(get_args(HaltReason))


def test_every_contradiction_is_on_the_page() -> None:
    told = [row[0].strip("`") for row in table(section(ERRORS, "Contradictions"))]
    assert sorted(told) == sorted(get_args(What))


def test_every_finding_of_an_audit_is_on_the_page_with_its_exit_code() -> None:
    rows = {row[0].strip("`"): row[1] for row in table(section(ERRORS, "Findings"))}

    assert list(rows) == list(get_args(Trouble))
    for trouble in get_args(Trouble):
        found = Report("shop", 0, 0, "", "", 0, Divergence(trouble, 0))
        assert rows[trouble] == str(found.exit_code), trouble


def test_every_sum_that_can_differ_is_on_the_page() -> None:
    assert [row[0].strip("`") for row in table(section(ERRORS, "Sums"))] == list(FINDINGS)


def test_every_row_says_what_it_means() -> None:
    for title in ("Reasons", "Errors", "Findings", "Sums", "Incidents", "Contradictions"):
        assert all(row[-1].endswith(".") for row in table(section(ERRORS, title)))
