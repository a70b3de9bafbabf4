"""A note is worth what the keys that signed it are worth to the reader."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.errors import InvalidRequest
from ledger.log.notes import COSIGNATURE, MOST_SIGNATURES, Note, open_note, parse_key, signer

TEXT = "It was so.\n"
ONE = signer("one.example/log", bytes(32))
TWO = signer("two.example/log", bytes([1]) * 32)
STRANGER = signer("stranger.example", bytes([2]) * 32)


def note(*signers: object) -> bytes:
    made = [each.sign(TEXT) for each in (ONE, TWO, STRANGER) if each in signers]
    return Note(TEXT, tuple(made)).spelled


def refused(data: bytes, *keys: object) -> str:
    with pytest.raises(InvalidRequest) as refusal:
        open_note(data, [each.key for each in (ONE, TWO) if each in keys])
    return refusal.value.code


def test_who_is_known_is_checked_and_who_is_not_is_passed_over() -> None:
    opened = open_note(note(ONE, STRANGER), [ONE.key, TWO.key])
    assert [key for key, _ in opened.verified] == [ONE.key]
    assert [made.name for made in opened.strangers] == ["stranger.example"]
    assert opened.text == TEXT
    both = open_note(note(ONE, TWO), [ONE.key, TWO.key])
    assert [key for key, _ in both.verified] == [ONE.key, TWO.key]
    assert refused(note(STRANGER), ONE) == "no_trusted_signature"


def test_a_key_told_twice_is_ambiguous_only_where_it_signed() -> None:
    with pytest.raises(InvalidRequest) as refusal:
        open_note(note(ONE), [ONE.key, ONE.key])
    assert refusal.value.code == "ambiguous_key"
    assert open_note(note(TWO), [ONE.key, ONE.key, TWO.key]).text == TEXT


def test_one_wrong_signature_of_a_known_key_condemns_all() -> None:
    wrong = ONE.sign("It was not so.\n")
    data = Note(TEXT, (TWO.sign(TEXT), wrong)).spelled
    assert refused(data, ONE, TWO) == "invalid_signature"
    assert open_note(data, [TWO.key]).text == TEXT, "of a stranger it says nothing"


def test_a_repeated_signature_is_kept_once() -> None:
    made = ONE.sign(TEXT)
    assert len(open_note(Note(TEXT, (made, made)).spelled, [ONE.key]).verified) == 1


def test_what_is_no_note_is_refused_by_name() -> None:
    good = note(ONE)
    crowd = Note(TEXT, (ONE.sign(TEXT),) * (MOST_SIGNATURES + 1)).spelled
    for data in (
        crowd,
        good.removesuffix(b"\n"),
        good.replace(b"\n\n", b"\n"),
        good.replace(b"so", b"s\x00"),
        good.replace(b"so", b"s\xff"),
        good.replace(b"one.example/log", b"one+example/log"),
        good.replace(b"one.example/log ", b" "),
        TEXT.encode() + b"\n",
    ):
        assert refused(data, ONE) in {"malformed_note", "invalid_key_name"}, data


def test_a_text_may_hold_empty_lines() -> None:
    text = "One.\n\nTwo.\n"
    assert open_note(Note(text, (ONE.sign(text),)).spelled, [ONE.key]).text == text


def test_a_witness_says_when() -> None:
    witness = signer("w.example", bytes([3]) * 32, type_=COSIGNATURE)
    made = witness.cosign(TEXT, seconds=1_700_000_000)
    assert open_note(Note(TEXT, (made,)).spelled, [witness.key]).text == TEXT
    later = made._replace(raw=(1_700_000_001).to_bytes(8, "big") + made.raw[8:])
    with pytest.raises(InvalidRequest):
        open_note(Note(TEXT, (later,)).spelled, [witness.key])


SPELLED = ONE.key.spelled


def test_no_part_of_a_key_is_a_key() -> None:
    for start in range(len(SPELLED)):
        for stop in range(start, len(SPELLED) + (start > 0)):
            with pytest.raises(InvalidRequest):
                parse_key(SPELLED[start:stop])


@given(place=st.integers(0, len(SPELLED)), added=st.characters())
def test_no_key_with_one_character_more_is_a_key(place: int, added: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_key(SPELLED[:place] + added + SPELLED[place:])


@given(st.integers(0, len(note(ONE)) - 1), st.integers(1, 255))
def test_no_changed_byte_of_a_note_goes_unnoticed(place: int, change: int) -> None:
    data = bytearray(note(ONE))
    data[place] ^= change
    with pytest.raises(InvalidRequest):
        open_note(bytes(data), [ONE.key])
