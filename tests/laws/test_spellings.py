"""One value, one spelling: whoever writes canonical JSON, and whoever reads it, agrees.

Facts are spelled by the standard library, events by a faster writer; the same value must come out
as the same bytes, or a digest taken in one room means nothing in the next.
"""

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from ledger.events import strict_json
from ledger.facts.canonical import Plain, canonical

# Half a character has no UTF-8, and no document that holds one is accepted.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
whole_numbers = st.integers(-(2**63), 2**63 - 1)

plain: st.SearchStrategy[Plain] = st.recursive(
    st.none() | st.booleans() | whole_numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


@given(plain)
def test_both_writers_spell_a_value_alike(value: Plain) -> None:
    assert strict_json.canonical(value) == canonical(value)


@given(plain)
def test_what_is_spelled_is_read_back_by_both_readers(value: Plain) -> None:
    spelled = canonical(value)

    assert strict_json.parse(spelled) == value
    assert orjson.loads(spelled) == value


@given(st.dictionaries(texts, whole_numbers, min_size=2, max_size=6), st.randoms())
def test_the_order_of_keys_does_not_show(value: dict[str, int], shuffle: Any) -> None:
    keys = list(value)
    shuffle.shuffle(keys)

    assert canonical({key: value[key] for key in keys}) == canonical(value)
