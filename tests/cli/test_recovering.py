"""What `ledger recover` believes of notes that somebody kept, and whom it names."""

import os
from pathlib import Path

import pytest

from ledger.cli.operator import operator
from ledger.cli.recovering import _signed
from ledger.errors import SetupProblem
from ledger.log.checkpoints import Checkpoint
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


def test_signed_checkpoints_of_both_trees_stand_for_a_memory(tmp_path: Path) -> None:
    notes = [kept(tmp_path, tree) for tree in NAMES]

    found = _signed(SHOP, None, notes, KEYS)

    assert found == {name: Signed(7, bytes(32)) for name in NAMES.values()}
    assert _signed(SHOP, None, [], []) is None


def test_a_checkpoint_is_believed_only_if_its_origin_signed_it(tmp_path: Path) -> None:
    notes = [kept(tmp_path, tree) for tree in NAMES]
    stranger = kept(tmp_path, "events", by="somebody.example")
    its_key = signing(SITE.seeds[0], "somebody.example").key.spelled

    for told, keys in [(notes, []), (notes, KEYS[:1]), ([stranger, notes[1]], [*KEYS, its_key])]:
        with pytest.raises(SetupProblem, match="no checkpoint that somebody signed"):
            _signed(SHOP, None, told, keys)


def test_the_end_of_one_tree_alone_is_not_enough(tmp_path: Path) -> None:
    with pytest.raises(SetupProblem, match=r"shop/2/events: the newest --checkpoint of this tree"):
        _signed(SHOP, None, [kept(tmp_path, "decisions")], KEYS)


def test_a_user_without_a_name_is_told_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that is run under any number."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)

    assert operator() == f"uid {2**31 - 7}"
