"""Bytes that are no event, and the name of every reason why not."""

import pytest

from ledger.events import strict_json
from ledger.events.codec import Accepted, Rejected, accept_line
from tests.events.samples import (
    ANYTHING,
    CLUSTER,
    WORKLOAD,
    changed,
    compact,
    example,
    judge,
    refused,
)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "not_json"),
        (b"{", "not_json"),
        (b"{}}", "not_json"),
        (b"{'id':1}", "not_json"),
        (b'\xef\xbb\xbf{"id":"1"}', "not_json"),
        (b'{"id":"a\nb"}', "not_json"),
        (b'{"id":01}', "not_json"),
        (b'{"id":"\xff"}', "not_utf8"),
        (b'{"id":"\xed\xa0\x80"}', "not_utf8"),
        (rb'{"id":"\ud800"}', "not_utf8"),
        (rb'{"\udfff":1}', "not_utf8"),
        (b'{"id":"1","id":"1"}', "duplicate_key"),
        (b'{"data":{"a":{"b":1,"c":2,"b":3}}}', "duplicate_key"),
        (rb'{"id":"1","\u0069d":"1"}', "duplicate_key"),
        (b'{"id":NaN}', "not_a_number"),
        (b'{"id":-Infinity}', "not_a_number"),
        (b'{"id":1e999}', "out_of_range"),
        (b'{"id":18446744073709551616}', "out_of_range"),
        (b'{"id":-9223372036854775809}', "out_of_range"),
        (b'{"id":' + b"9" * 10_000 + b"}", "out_of_range"),
        (b"[" * 33, "too_deep"),
        (b'{"a":' * 33 + b"1" + b"}" * 33, "too_deep"),
        (b"[" * 500_000, "too_deep"),
        (b'"' + b'\\"' * 500_000, "not_json"),
        (b'{"id":"' + b"x" * strict_json.LARGEST_DOCUMENT + b'"}', "too_large"),
        (b"[]", "not_a_cloudevent"),
        (b"[" * 32 + b"]" * 32, "not_a_cloudevent"),
        (b'"text"', "not_a_cloudevent"),
        (b"null", "not_a_cloudevent"),
        (b"1", "not_a_cloudevent"),
        (b"{}", "not_a_cloudevent"),
        (b'{"name":"eu-1"}', "not_a_cloudevent"),
    ],
)
def test_bytes_that_are_no_event_are_refused_by_name(raw: bytes, reason: str) -> None:
    verdict = accept_line(raw, families=ANYTHING)

    assert isinstance(verdict, Rejected)
    assert verdict.reason == reason
    assert verdict.detail.isascii()
    assert verdict.detail.isprintable()
    assert len(verdict.detail) < 500


def test_the_deepest_document_that_is_read_is_32_deep() -> None:
    event = example(CLUSTER)
    deep: object = 1
    for _ in range(30):
        deep = [deep]

    event["data"]["unknown"] = deep
    assert isinstance(judge(event), Accepted)

    event["data"]["unknown"] = [deep]
    assert refused(event)[0] == "too_deep"


def test_keys_may_not_be_twice_in_unknown_fields_either() -> None:
    raw = compact(changed(WORKLOAD, surprise=0)).replace(
        b'"surprise":0', b'"surprise":{"a":1e5,"a":1}'
    )

    verdict = accept_line(raw, families=ANYTHING)

    assert isinstance(verdict, Rejected)
    assert verdict.reason == "duplicate_key"


def test_a_repeated_key_is_found_in_the_shortest_spelling_too() -> None:
    raw = compact(example(WORKLOAD)).replace(b'"replicas":12', b'"replicas":11,"replicas":12')

    verdict = accept_line(raw, families=ANYTHING)

    assert isinstance(verdict, Rejected)
    assert verdict.reason == "duplicate_key"
    assert verdict.id == "example-workload.workload.upserted.v1"
    assert verdict.fleet == "default"
