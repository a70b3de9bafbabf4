"""Headers of an HTTP request as the attributes of an event."""

import pytest

from ledger.events import over_http


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        (b"plain", b"plain"),
        (b"a%20b", b"a b"),
        (b"%25%78", b"%x"),
        (b'"a b"', b"a b"),
        (b'"a%20b"', b"a b"),
        (rb'"say \"hi\" \\ %22"', rb'say "hi" \ "'),
        (b'""', b""),
        (b"%22a%22", b'"a"'),
        (b'"', b'"'),
        (b'"a" b', b'"a" b'),
        (b'"a"b"', b'"a"b"'),
        (b'"a\\"', b'"a\\"'),
    ],
)
def test_a_value_is_taken_out_of_its_quotes_and_then_out_of_its_percents(
    sent: bytes, meant: bytes
) -> None:
    assert over_http.attributes([(b"Ce-Id", sent)]) == (("ce_id", meant),)


def test_what_carries_no_event_is_left_alone() -> None:
    headers = [(b"Content-Type", b'"a%20b"'), (b"Host", b"x"), (b"ce-a_b", b"1")]

    assert over_http.attributes(headers) == (("content-type", b'"a%20b"'),)
