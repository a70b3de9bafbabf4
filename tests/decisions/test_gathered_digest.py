"""A digest of many things says which they are, and not in which order they came and went."""

from itertools import chain, combinations_with_replacement
from random import Random

from ledger.decisions.gathered_digest import GatheredDigest

THINGS = [f"thing {number}".encode() for number in range(6)]


def gathered(things: list[bytes]) -> bytes:
    all_of_them = GatheredDigest()
    for thing in things:
        all_of_them.add(thing)
    return all_of_them.digest()


def test_things_that_came_and_went_leave_what_others_that_came_at_once_are() -> None:
    random = Random(7)
    kept, there = GatheredDigest(), list[bytes]()

    for _ in range(300):
        if there and random.random() < 0.5:
            gone = there.pop(random.randrange(len(there)))
            kept.drop(gone)
        else:
            there.append(random.choice(THINGS))
            kept.add(there[-1])

        assert kept.digest() == gathered(sorted(there))


def test_other_things_are_another_digest() -> None:
    several = [combinations_with_replacement(THINGS, count) for count in range(5)]

    seen = [gathered(list(there)) for there in chain.from_iterable(several)]

    assert len(seen) > 200
    assert len(set(seen)) == len(seen)
