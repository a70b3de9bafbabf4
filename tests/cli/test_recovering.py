"""What `ledger recover` believes of notes that somebody kept, and whom it names."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from ledger.cli.operator import operator
from ledger.cli.recovering import Known, _known
from ledger.errors import SetupProblem
from ledger.log.checkpoints import Checkpoint
from ledger.log.known_ends import tree_of
from ledger.log.publishing import Directory, Published
from ledger.log.sealing import Site
from ledger.log.signed import Signed
from ledger.log.signing_keys import origin, signing
from ledger.log.trees import Tree
from ledger.units import FleetName, Incarnation

SHOP = FleetName("shop")
SITE = Site("ledger.example", (bytes(32),))
NAMES: dict[Tree, str] = {
    "events": origin(SITE.name, SHOP, Incarnation(2), "events"),
    "decisions": origin(SITE.name, SHOP, Incarnation(2), "decisions"),
}
KEYS = [signing(SITE.seeds[0], name).key.spelled for name in NAMES.values()]


def kept(folder: Path, tree: Tree, *, by: str | None = None) -> Path:
    """A checkpoint of a tree of seven leaves, signed by its origin unless somebody else is named."""
    text = Checkpoint(NAMES[tree], 7, bytes(32)).text
    path = folder / f"{tree}-{by}"
    path.write_bytes(SITE.sign(by or NAMES[tree], text).spelled)
    return path


def known(
    *, notes: Sequence[Path] = (), published: Path | None = None, keys: Sequence[str] = KEYS
) -> Known | None:
    """What is known of a log of five events and three decisions."""
    return _known(SHOP, None, notes, published, keys, {"events": 5, "decisions": 3})


def test_signed_checkpoints_of_both_trees_stand_for_a_memory(tmp_path: Path) -> None:
    found = known(notes=[kept(tmp_path, tree) for tree in NAMES])

    assert found is not None
    assert found.last == {name: Signed(7, bytes(32)) for name in NAMES.values()}
    assert known() is None


def test_a_checkpoint_is_believed_only_if_its_origin_signed_it(tmp_path: Path) -> None:
    notes = [kept(tmp_path, tree) for tree in NAMES]
    stranger = kept(tmp_path, "events", by="somebody.example")
    its_key = signing(SITE.seeds[0], "somebody.example").key.spelled

    for told, keys in [(notes, []), (notes, KEYS[:1]), ([stranger, notes[1]], [*KEYS, its_key])]:
        with pytest.raises(SetupProblem, match="no checkpoint that its origin signed"):
            known(notes=told, keys=keys)


def test_the_end_of_one_tree_alone_is_not_enough(tmp_path: Path) -> None:
    with pytest.raises(SetupProblem, match=r"shop/2/events: the newest --checkpoint of this tree"):
        known(notes=[kept(tmp_path, "decisions")])


async def test_of_what_was_published_the_newest_notes_stand_for_a_memory_and_others_for_what_it_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A note that its key did not sign, or of which no key was given, is passed over and that is said."""
    place = Directory(tmp_path)
    ends = [Signed(size, bytes([size]) * 32) for size in (2, 4, 6, 7, 9)]
    for name in (*NAMES.values(), origin(SITE.name, FleetName("other"), Incarnation(1), "events")):
        for size, root in ends:
            note = SITE.sign(name, Checkpoint(name, size, root).text).spelled
            await place.publish([Published(name, size, note)])
    (spoiled,) = (tmp_path / NAMES["events"] / "checkpoints").glob("*4")
    spoiled.write_bytes(spoiled.read_bytes().replace(b"BAQE", b"BBBB", 1))

    found = known(published=tmp_path)

    assert found is not None
    assert found.last == dict.fromkeys(NAMES.values(), ends[-1])
    sizes = [(tree_of(one.origin), one.signed.size) for one in found.before]
    assert sizes == [("decisions", 2), ("decisions", 9), ("events", 2), ("events", 9)]
    assert "passed over 1 note: signed by no --key" in capsys.readouterr().err
    with pytest.raises(SetupProblem, match="events: the newest --checkpoint"):
        known(published=tmp_path, keys=KEYS[1:])


def test_a_user_without_a_name_is_told_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that is run under any number."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)

    assert operator() == f"uid {2**31 - 7}"
