"""Laws of the border: whatever the bytes, there is one verdict, and it has a name.

Most of them start from a good event of some type and damage it, in its meaning or in its bytes:
what is wholly random is refused by the first check and would say nothing about the rest.
"""

import copy
import json
import random
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, get_args

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ledger.errors import InvalidEvent, InvalidReason
from ledger.events import codec, quantities, schema, strict_json
from ledger.events.codec import Accepted, Rejected, accept, accept_line, decode
from ledger.events.contract import without_nulls
from ledger.events.moments import microseconds, spelled
from ledger.events.registry import REGISTRY
from ledger.facts.policy import Policy, as_plain, from_plain, merge
from ledger.units import LARGEST_WHOLE_NUMBER, EventType, Microseconds
from tests.events.samples import ANYTHING, EXAMPLES, FROM_OUTSIDE, POLICY, compact, with_data

MANY = settings(max_examples=5 * settings().max_examples)
"""For the laws on which the consumers' lives depend."""
REASONS = set(get_args(InvalidReason))
VALIDATORS: dict[str, Draft202012Validator] = {
    type_: Draft202012Validator(schema.describe(REGISTRY.contracts[EventType(type_)]))
    for type_ in FROM_OUTSIDE
}

types = st.sampled_from(FROM_OUTSIDE)
odd_texts = st.sampled_from(
    ["", "x", "a/b", "a@b", "0", "500m", "1Gi", "-1", "0.5", "é", "a\u0000", "\u007f", "x" * 254]
)
odd_numbers = st.sampled_from([-1, 0, 1, 7, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64])
odd_floats = st.sampled_from([0.0, -0.0, 1.0, 0.5, 1e16, 1e300])
odd_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | odd_texts | odd_numbers | odd_floats,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd_texts, inner, max_size=3),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of everything inside a document."""
    inside: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inside = list(value.items())
    elif isinstance(value, list):
        inside = list(enumerate(value))
    return [
        found for key, entry in inside for found in [(*path, key), *places(entry, (*path, key))]
    ]


def at(value: Any, path: tuple[Any, ...]) -> Any:
    """What is at a path."""
    for step in path:
        value = value[step]
    return value


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """A good event with up to three things in it removed, replaced or added."""
    event = copy.deepcopy(EXAMPLES[draw(types)])
    for _ in range(draw(st.sampled_from([0, 1, 1, 1, 2, 3]))):
        inside = [path for path in places(event) if path[0] == "data"]
        # Five of six times inside the data: the envelope is soon broken.
        somewhere = draw(st.sampled_from([inside] * 5 + [places(event)]))
        path = draw(st.sampled_from(somewhere or places(event)))
        place = at(event, path[:-1])
        match draw(st.sampled_from(["replace", "replace", "remove", "add"])):
            case "replace":
                place[path[-1]] = draw(odd_values)
            case "remove":
                del place[path[-1]]
            case _ if isinstance(place, dict):
                place[draw(odd_texts)] = draw(odd_values)
            case _:
                place.append(draw(odd_values))
        if not event:
            break
    return event


SPELLINGS: list[Callable[[object], bytes]] = [
    compact,
    compact,
    lambda event: json.dumps(event).encode(),
    lambda event: json.dumps(event, indent=1, ensure_ascii=False).encode(),
    lambda event: json.dumps(event, separators=(",", ":"), sort_keys=True).encode(),
]


@st.composite
def spelled_somehow(draw: st.DrawFn) -> bytes:
    """An event, good or not, in some spelling, perhaps with a key twice or a byte changed."""
    event = draw(damaged())
    raw = draw(st.sampled_from(SPELLINGS))(event)
    match draw(st.sampled_from([*("as it is",) * 6, "repeat", "flip", "cut", "insert"])):
        case "repeat":
            keys = [path for path in places(event) if isinstance(path[-1], str)]
            assume(keys)
            path = draw(st.sampled_from(keys))
            once = compact(path[-1]) + b":"
            place = raw.find(once)
            assume(place >= 0)
            raw = raw[:place] + once + compact(draw(odd_values)) + b"," + raw[place:]
        case "flip":
            place = draw(st.integers(0, len(raw) - 1))
            raw = raw[:place] + bytes([draw(st.integers(0, 255))]) + raw[place + 1 :]
        case "cut":
            raw = raw[: draw(st.integers(0, len(raw)))]
        case "insert":
            place = draw(st.integers(0, len(raw)))
            piece = draw(
                st.sampled_from([b" ", b"\x00", b"NaN", b"[", b"}", b"1e9", b"\\u0041", b","])
            )
            raw = raw[:place] + piece + raw[place:]
        case _:
            pass
    return raw


@given(damaged().map(compact) | spelled_somehow())
@MANY
def test_the_quick_path_accepts_nothing_that_the_careful_one_does_not(raw: bytes) -> None:
    quick = codec._accept_quickly(raw, ANYTHING, None)
    careful = codec._accept_carefully(raw, ANYTHING, None)

    assert quick is None or quick == careful


@pytest.mark.parametrize("type_", FROM_OUTSIDE)
def test_the_quick_path_takes_every_good_event_in_its_shortest_spelling(type_: str) -> None:
    event = json.loads(json.dumps(EXAMPLES[type_]))

    assert codec._accept_quickly(compact(event), ANYTHING, None) is not None


@given(spelled_somehow())
def test_every_verdict_can_be_written_down(raw: bytes) -> None:
    verdict = accept_line(raw, families=ANYTHING)

    if isinstance(verdict, Accepted):
        assert verdict.stored == raw
        assert len(verdict.identity) == 16
        assert len(verdict.digest) == 32
    texts = [part for part in verdict if isinstance(part, str)]
    assert "\x00" not in "".join(texts)
    assert "".join(texts).encode()
    assert isinstance(verdict, Accepted) or verdict.reason in REASONS


@given(st.binary(max_size=200))
@MANY
@example(b"{" * 100_000)
@example(b'{"a":' * 100_000)
@example(b'"' + b"\\" * 100_001)
@example(b"-" * 100_000)
@example(b"1" * 100_000)
@example(b"1e" + b"9" * 100_000)
@example(b"[" + b"0," * 100_000 + b"0]")
def test_no_bytes_whatever_raise_anything(raw: bytes) -> None:
    assert isinstance(accept_line(raw, families=ANYTHING), Rejected)


header_names = st.sampled_from(
    [
        "content-type",
        "Content-Type",
        "ce_id",
        "ce_source",
        "ce_type",
        "ce_fleet",
        "ce_",
        "ce_data",
        "x",
    ]
) | st.text(max_size=8)
header_values = st.sampled_from(
    [
        b"application/cloudevents+json",
        b"application/json",
        b"application/cloudevents-batch+json",
        b"1.0",
    ]
) | st.binary(max_size=20)


@given(
    st.none() | st.binary(max_size=60) | spelled_somehow(),
    st.lists(st.tuples(header_names, header_values), max_size=6),
    types,
)
def test_no_message_whatever_raises_anything(
    value: bytes | None, noise: list[tuple[str, bytes]], type_: str
) -> None:
    good = [
        (f"ce_{name}", text.encode()) for name, text in EXAMPLES[type_].items() if name != "data"
    ]

    for headers in (noise, good + noise, noise + good):
        verdict = accept(value, headers=headers, families=ANYTHING)

        assert isinstance(verdict, Accepted) or verdict.reason in REASONS


@given(damaged(), st.sampled_from(SPELLINGS))
def test_both_modes_and_both_paths_agree(
    event: dict[str, Any], spell: Callable[[object], bytes]
) -> None:
    data = event.get("data")
    attributes = {name: text for name, text in event.items() if name != "data"}
    assume(all(isinstance(text, str) and text.isprintable() for text in attributes.values()))
    assume(all(name.isascii() and name.islower() and name.isalpha() for name in attributes))
    assume(not attributes.keys() & {"data", "contenttype"})
    headers = [(f"ce_{name}", text.encode()) for name, text in attributes.items()]

    binary = accept(spell(data), headers=headers, families=ANYTHING)
    structured = accept_line(spell(event), families=ANYTHING)

    if isinstance(structured, Accepted):
        assert isinstance(binary, Accepted)
        assert binary._replace(stored=b"") == structured._replace(stored=b"")
    else:
        assert isinstance(binary, Rejected)


@given(damaged())
def test_what_is_accepted_can_be_folded(event: dict[str, Any]) -> None:
    verdict = accept_line(compact(event), families=ANYTHING)
    if isinstance(verdict, Rejected):
        return

    fact = decode(verdict.stored, revision=codec.CONTRACT_REVISION)

    assert fact == decode(strict_json.canonical(json.loads(verdict.stored)), revision=1)
    assert isinstance(hash(fact), int)


@given(types, st.integers())
def test_neither_the_order_of_keys_nor_the_spelling_changes_what_is_said(
    type_: str, seed: int
) -> None:
    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            keys = sorted(value)
            random.Random(seed).shuffle(keys)
            return {key: shuffled(value[key]) for key in keys}
        return [shuffled(entry) for entry in value] if isinstance(value, list) else value

    event = shuffled(EXAMPLES[type_])

    verdicts = [
        accept_line(raw, families=ANYTHING)
        for raw in (compact(EXAMPLES[type_]), compact(event), json.dumps(event, indent=2).encode())
    ]

    assert (
        len({verdict._replace(stored=b"") for verdict in verdicts if isinstance(verdict, Accepted)})
        == 1
    )
    assert all(isinstance(verdict, Accepted) for verdict in verdicts)


@pytest.mark.parametrize("type_", FROM_OUTSIDE)
@pytest.mark.parametrize("number", [0.0, 1.0, 0.5, 1e300])
def test_no_field_of_any_contract_takes_a_float(type_: str, number: float) -> None:
    for path in places(EXAMPLES[type_]):
        event = copy.deepcopy(EXAMPLES[type_])
        at(event, path[:-1])[path[-1]] = number

        verdict = accept_line(compact(event), families=ANYTHING)

        assert isinstance(verdict, Rejected), path


@given(damaged())
def test_what_the_schema_refuses_the_contract_refuses(event: dict[str, Any]) -> None:
    type_ = event.get("type")
    assume(isinstance(type_, str) and type_ in VALIDATORS)
    assert isinstance(type_, str)
    # JSON Schema takes 1.0 for a whole number; the ledger does not.
    assume(not any(isinstance(at(event, path), float) for path in places(event)))

    fits = VALIDATORS[type_].is_valid(event)
    verdict = accept_line(compact(event), families=ANYTHING)

    if isinstance(verdict, Accepted):
        # An entry that is null is absent, whatever its key; a schema looks at the key all the same.
        assert fits or VALIDATORS[type_].is_valid(without_nulls(event))
    elif fits:
        # What a schema has no words for.
        assert verdict.reason in {
            "subject_mismatch", "not_whole", "out_of_range", "negative_quantity", "wrong_fleet",
            "invalid_attribute", "missing_attribute", "wrong_field",
        }  # fmt: skip
        if verdict.reason == "missing_attribute":
            assert verdict.detail.startswith("fleet")


@given(
    st.integers(0, 10**20),
    st.integers(0, 6),
    st.sampled_from(
        [
            "",
            "n",
            "u",
            "m",
            "k",
            "M",
            "G",
            "T",
            "P",
            "E",
            "Ki",
            "Mi",
            "Gi",
            "Ti",
            "Pi",
            "Ei",
            "e3",
            "E-2",
            "e+1",
        ]
    ),
    st.sampled_from(["milli-core", "byte"]),
)
def test_a_quantity_is_what_exact_arithmetic_says(
    digits: int, decimals: int, suffix: str, unit: str
) -> None:
    text = str(digits).rjust(decimals + 1, "0")
    text = (
        f"{text[: len(text) - decimals]}.{text[len(text) - decimals :]}{suffix}"
        if decimals
        else text + suffix
    )
    scales = {
        "": Fraction(1),
        "n": Fraction(1, 10**9),
        "u": Fraction(1, 10**6),
        "m": Fraction(1, 1000),
    }
    scales |= {name: Fraction(1000 ** (power + 1)) for power, name in enumerate("kMGTPE")}
    scales |= {f"{name}i": Fraction(1024 ** (power + 1)) for power, name in enumerate("KMGTPE")}
    scales |= {"e3": Fraction(1000), "E-2": Fraction(1, 100), "e+1": Fraction(10)}
    exact = Fraction(digits, 10**decimals) * scales[suffix] * (1000 if unit == "milli-core" else 1)

    reader = quantities.cpu_milli if unit == "milli-core" else quantities.base_units

    try:
        read: object = reader(text)
    except InvalidEvent as refused:
        read = refused.reason

    if exact.denominator != 1:
        assert read == "not_whole"
    elif exact > LARGEST_WHOLE_NUMBER:
        assert read == "out_of_range"
    else:
        assert read == exact


@given(st.text(max_size=12) | st.from_regex(quantities.PATTERN, fullmatch=True))
def test_any_text_is_a_quantity_or_refused_by_name(text: str) -> None:
    read: object
    try:
        read = quantities.base_units(text)
    except InvalidEvent as refused:
        read = refused.reason

    assert read in REASONS or read in range(LARGEST_WHOLE_NUMBER + 1)
    spelled_like_one = re.fullmatch(quantities.PATTERN, text) is not None
    assert spelled_like_one == (read != "wrong_field") or len(text) > quantities.LONGEST_TEXT


@given(st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999))
def test_a_moment_that_is_spelled_is_read_back(moment: int) -> None:
    assert microseconds(spelled(Microseconds(moment))) == moment


@given(
    st.sets(st.sampled_from(sorted(EXAMPLES[POLICY]["data"].keys() - {"salt"}))),
    st.sets(st.sampled_from(sorted(EXAMPLES[POLICY]["data"].keys()))),
)
def test_taking_a_change_back_leaves_the_default(sections: set[str], one_by_one: set[str]) -> None:
    """Whatever is set and then set to null is as it was; null before anything is no change."""
    change = {section: EXAMPLES[POLICY]["data"][section] for section in sections}
    back = {
        section: dict.fromkeys(told) if section in one_by_one and isinstance(told, dict) else None
        for section, told in change.items()
    }

    def told(data: dict[str, Any]) -> Any:
        verdict = accept_line(compact(with_data(POLICY, data)), families=ANYTHING)
        assert isinstance(verdict, Accepted)
        fact = decode(verdict.stored, revision=1)
        return fact.change  # type: ignore[union-attr]  # a policy event says PolicyChanged

    there = merge(Policy(), told(change), default=Policy())

    assert merge(there, told(back), default=Policy()) == Policy()
    assert merge(Policy(), told(back), default=Policy()) == Policy()
    assert from_plain(as_plain(there)) == there
