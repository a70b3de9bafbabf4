"""What is generated from the contracts: JSON Schemas and the AsyncAPI document."""

import inspect
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ledger.events import __main__ as generated
from ledger.events import asyncapi, schema
from ledger.events.registry import REGISTRY
from ledger.units import EventType
from tests.events.samples import EXAMPLES

SCHEMAS = {
    name.removesuffix(".json"): json.loads(document) for name, document in schema.generate().items()
}


def test_what_is_generated_is_up_to_date() -> None:
    assert generated.stale() == [], "python -m ledger.events --write"


def test_what_is_stored_is_part_of_the_package() -> None:
    stored = {path.name for path in schema.STORED.iterdir()}

    assert stored == {f"{type_}.json" for type_ in REGISTRY.contracts}


@pytest.mark.parametrize("type_", sorted(SCHEMAS))
def test_a_schema_is_one_and_its_example_fits(type_: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[type_])

    Draft202012Validator(SCHEMAS[type_]).validate(EXAMPLES[type_])


@pytest.mark.parametrize("type_", sorted(SCHEMAS))
def test_everything_in_a_schema_is_explained(type_: str) -> None:
    contract = REGISTRY.contracts[EventType(type_)]

    unexplained = [
        f"{name}.{field}"
        for name, definition in SCHEMAS[type_]["$defs"].items()
        for field, entry in definition["properties"].items()
        if not entry.get("description")
    ]

    assert unexplained == []
    assert SCHEMAS[type_]["$id"] == f"urn:ledger:event:{type_}"
    meant = inspect.cleandoc(contract.__doc__ or "").replace("\n", " ")
    assert SCHEMAS[type_]["description"] == meant


@pytest.mark.parametrize("type_", sorted(SCHEMAS))
def test_a_field_has_the_same_default_in_schema_and_contract(type_: str) -> None:
    contract = REGISTRY.contracts[EventType(type_)]
    properties = SCHEMAS[type_]["$defs"][contract.__name__]["properties"]

    for name, field in contract.__pydantic_fields__.items():
        if field.is_required():
            assert name in SCHEMAS[type_]["$defs"][contract.__name__]["required"]
        elif field.default_factory is None:
            assert properties[name].get("default") == field.default


def test_every_reference_in_the_asyncapi_document_leads_somewhere() -> None:
    document = asyncapi.describe()
    docs = generated.ROOT / "docs"

    for reference in references(document):
        if reference.startswith("#/"):
            place: Any = document
            for step in reference.removeprefix("#/").split("/"):
                place = place[step]
        else:
            assert (docs / reference).resolve().is_file()


def references(document: object) -> list[str]:
    """Every ``$ref`` there is."""
    match document:
        case {"$ref": str(reference)}:
            return [reference]
        case dict():
            return [found for entry in document.values() for found in references(entry)]
        case list():
            return [found for entry in document for found in references(entry)]
        case _:
            return []


def test_every_type_from_outside_is_in_one_channel() -> None:
    channels = asyncapi.describe()["channels"]

    found = [type_ for topic in asyncapi.TOPICS for type_ in channels[topic]["messages"]]

    assert sorted(found) == sorted(
        type_ for type_, contract in REGISTRY.contracts.items() if contract.family != "own"
    )


def test_the_channels_are_the_topics_that_are_consumed() -> None:
    for topic, family in asyncapi.TOPICS.items():
        consumed = import_module(f"consumers.{family}").TOPIC

        assert consumed.under("ledger.").name == topic
        assert consumed.families == {family}


def test_the_command_writes_what_is_missing_and_removes_what_is_left_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generated, "ROOT", tmp_path)
    monkeypatch.setattr(generated, "SCHEMAS", tmp_path / "schemas")
    (tmp_path / "docs").mkdir()
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "ledger.old.v1.json").write_text("{}")

    assert generated.main(["--check"]) == 1
    assert "schemas/ledger.old.v1.json" in capsys.readouterr().out
    assert generated.main(["--write"]) == 0
    assert generated.main(["--check"]) == 0
    assert len(list((tmp_path / "schemas").iterdir())) == len(REGISTRY.contracts)
    assert generated.main([]) == 2
