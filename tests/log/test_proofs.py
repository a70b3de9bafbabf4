"""A proof shows what the reader's own trust lets it show, and nothing when any byte is another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.errors import InvalidRequest
from ledger.log.checkpoints import Checkpoint
from ledger.log.merkle import inclusion_proof, leaf_hash, root
from ledger.log.notes import COSIGNATURE, Note, Signer, signer
from ledger.log.proofs import Proof, parse_proof, verify
from ledger.log.trust import only, parse_policy
from tests.log import independent_verifier

ENTRIES = [f"entry {number}".encode() for number in range(11)]
LEAVES = [leaf_hash(entry) for entry in ENTRIES]
LOG = signer("log.example/shop", bytes(32))
WITNESSES = [
    signer(f"w{number}.example", bytes([number]) * 32, type_=COSIGNATURE) for number in (1, 2, 3)
]


def proof_of(index: int, *cosigners: Signer, log: Signer = LOG) -> Proof:
    text = Checkpoint("log.example/shop", len(LEAVES), root(LEAVES)).text
    made = [log.sign(text), *(each.cosign(text, seconds=1_700_000_000) for each in cosigners)]
    hashes = inclusion_proof(
        index,
        size=len(LEAVES),
        node=lambda level, at: root(LEAVES[at << level : (at + 1) << level]),
    )
    return Proof(index, hashes, Note(text, tuple(made)).spelled)


def policy(quorum: str) -> bytes:
    lines = ["# who is trusted", f"log {LOG.key.spelled}"]
    lines += [
        f"witness w{number} {each.key.spelled} https://w{number}.example/"
        for number, each in enumerate(WITNESSES, start=1)
    ]
    return "\n".join([*lines, *quorum.split(";"), ""]).encode()


@pytest.mark.parametrize("index", range(len(ENTRIES)))
def test_every_entry_can_be_shown_and_no_other_in_its_place(index: int) -> None:
    proof = parse_proof(proof_of(index).spelled)
    shown = verify(proof, ENTRIES[index], only(LOG.key))
    assert (shown.index, shown.checkpoint.size, shown.log) == (index, 11, LOG.key)
    with pytest.raises(InvalidRequest) as refusal:
        verify(proof, ENTRIES[index - 1], only(LOG.key))
    assert refusal.value.code == "not_included"


def test_extra_data_is_carried_and_vouched_for_by_nobody() -> None:
    proof = Proof(3, proof_of(3).hashes, proof_of(3).checkpoint, b"where it came from")
    assert parse_proof(proof.spelled) == proof


@pytest.mark.parametrize("length", [49_000, 150_000, 3_000_000])
def test_an_entry_goes_along_however_long_it_is(length: int) -> None:
    """As the record of a division over some thousand clusters does; the format sets no limit."""
    entry = b"x" * length
    text = Checkpoint(LOG.key.name, 1, leaf_hash(entry)).text
    spelled = Proof(0, (), Note(text, (LOG.sign(text),)).spelled, entry).spelled

    proof = parse_proof(spelled)

    assert verify(proof, proof.extra, only(LOG.key)).checkpoint.size == 1
    assert independent_verifier.shows(spelled, entry, LOG.key.spelled, [], quorum=0)


def test_no_other_line_is_long() -> None:
    """A hash or a signature of that size is nothing that anybody wrote."""
    spelled = Proof(3, proof_of(3).hashes, proof_of(3).checkpoint, b"x" * 100_000).spelled
    for place in (b"index 3\n", b"log.example/shop\n11\n"):
        with pytest.raises(InvalidRequest) as refusal:
            parse_proof(spelled.replace(place, place + b"A" * 65_537 + b"\n"))
        assert refusal.value.code == "too_long"


@pytest.mark.parametrize(
    ("quorum", "cosigners", "enough"),
    [
        ("quorum none", 0, True),
        ("quorum w1", 0, False),
        ("quorum w1", 1, True),
        ("group most 2 w1 w2 w3;quorum most", 1, False),
        ("group most 2 w1 w2 w3;quorum most", 2, True),
        ("group all all w1 w2 w3;quorum all", 2, False),
        ("group some any w1 w2;group both all some w3;quorum both", 2, False),
        ("group some any w1 w2;group both all some w3;quorum both", 3, True),
    ],
)
def test_the_quorum_is_the_reader_s(quorum: str, cosigners: int, *, enough: bool) -> None:
    trust = parse_policy(policy(quorum))
    proof = proof_of(4, *WITNESSES[:cosigners])
    if enough:
        shown = verify(proof, ENTRIES[4], trust)
        assert [seconds for _, seconds in shown.witnesses] == [1_700_000_000] * cosigners
    else:
        with pytest.raises(InvalidRequest) as refusal:
            verify(proof, ENTRIES[4], trust)
        assert refusal.value.code == "quorum_not_met"


def test_a_witness_alone_makes_no_log() -> None:
    trust = parse_policy(policy("quorum w1"))
    proof = proof_of(4, *WITNESSES, log=signer("log.example/shop", bytes([9]) * 32))
    with pytest.raises(InvalidRequest) as refusal:
        verify(proof, ENTRIES[4], trust)
    assert refusal.value.code == "untrusted_log"


@pytest.mark.parametrize(
    "lines",
    [
        "",
        "quorum w4",
        "quorum none;quorum none",
        "group g 0 w1;quorum g",
        "group g 3 w1 w2;quorum g",
        "group g any;quorum g",
        "group g any w1 w1;quorum g",
        "group g any w1;group h any w1;quorum h",
        "group none any w1;quorum none",
        "group w1 any w2;quorum w1",
        "group g any later;group later any w1;quorum g",
        f"log {LOG.key.spelled};quorum none",
        f"log {WITNESSES[0].key.spelled};quorum none",
        f"witness w4 {WITNESSES[0].key.spelled};quorum none",
        f"witness w4 {LOG.key.spelled};quorum none",
        "witness w4 key;quorum none",
        "trust everybody;quorum none",
        "quorum none;# \x01",
    ],
)
def test_a_policy_that_is_none_is_refused(lines: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse_policy(policy(lines))
    assert refusal.value.code == "invalid_policy"


SPELLED = proof_of(6, *WITNESSES).spelled


@given(st.integers(0, len(SPELLED) - 1), st.integers(1, 255))
def test_no_changed_byte_of_a_proof_goes_unnoticed(place: int, change: int) -> None:
    data = bytearray(SPELLED)
    data[place] ^= change
    trust = parse_policy(policy("group all all w1 w2 w3;quorum all"))
    with pytest.raises(InvalidRequest):
        verify(parse_proof(bytes(data)), ENTRIES[6], trust)


@given(st.integers(0, len(SPELLED) - 1))
def test_no_cut_proof_shows_anything(length: int) -> None:
    trust = parse_policy(policy("group all all w1 w2 w3;quorum all"))
    with pytest.raises(InvalidRequest):
        verify(parse_proof(SPELLED[:length]), ENTRIES[6], trust)


@given(
    size=st.integers(1, 70),
    place=st.integers(0, 10**6),
    cosigners=st.integers(0, 3),
    spoil=st.none() | st.tuples(st.integers(0, 10**6), st.integers(1, 255)),
)
def test_a_second_verifier_that_knows_only_the_published_texts_agrees(
    size: int, place: int, cosigners: int, spoil: tuple[int, int] | None
) -> None:
    index = place % size
    entries = [f"entry {number}".encode() for number in range(size)]
    leaves = [leaf_hash(entry) for entry in entries]
    text = Checkpoint("log.example/shop", size, root(leaves)).text
    made = [each.cosign(text, seconds=1_700_000_000) for each in WITNESSES[:cosigners]]
    hashes = inclusion_proof(
        index, size=size, node=lambda level, at: root(leaves[at << level : (at + 1) << level])
    )
    spelled = Proof(index, hashes, Note(text, (LOG.sign(text), *made)).spelled).spelled
    data = bytearray(spelled)
    if spoil is not None:
        data[spoil[0] % len(data)] ^= spoil[1]
    theirs = independent_verifier.shows(
        bytes(data),
        entries[index],
        LOG.key.spelled,
        [each.key.spelled for each in WITNESSES],
        quorum=2,
    )
    trust = parse_policy(policy("group most 2 w1 w2 w3;quorum most"))
    try:
        verify(parse_proof(bytes(data)), entries[index], trust)
        ours = True
    except InvalidRequest:
        ours = False
    assert ours == theirs
    if spoil is None:
        assert ours == (cosigners >= 2)
