"""Replicas that an approved proposal moves: placed where it says, then released where they were.

A move is a replacement like that of a replica whose disk is to be emptied: the new replica takes the
next number of its volume, and the old one goes. The core says whether all moves can still be made
(``ledger.core.disk.rebalance.first_hindered``).
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from ledger.core.disk.rebalance import Address as CoreAddress
from ledger.decisions import versions
from ledger.decisions.answer import Answered
from ledger.decisions.disk_placement import SYSTEM, rules_of
from ledger.decisions.planned import Hindered
from ledger.decisions.stock import Reach, stock
from ledger.facts.canonical import digest
from ledger.facts.disk_placement import DiskPlacement, Gone, InForce, Step
from ledger.facts.proposal import Proposed
from ledger.facts.reason import NO_LOSERS
from ledger.reducers.open_proposals import OpenProposal
from ledger.reducers.replicas import Address, Replica, numbered, replica_name
from ledger.reducers.volumes import question_of, wanted
from ledger.reducers.world import World
from ledger.units import NodeName, Subject

MOVED: Final = "moved"
"""The branch of a decision that carries out a proposal."""

_PROPOSAL: Final = "proposal"
"""What named the disk: no rung of the ladder was asked, and no score."""


def hindered(world: World, moves: Sequence[Proposed]) -> Hindered | None:
    """The first move that cannot be made, and why."""
    volumes = sorted({move.subject for move in moves})
    lying = stock(world, Reach(volumes, frozenset(world.disks.hosts)))
    found = versions.disk(world.policy.algorithms.disk).first_hindered(
        lying, [(str(move.subject), move.thing, _address(move.into)) for move in moves]
    )
    return None if found is None else Hindered(found.place, found.why)


def carried_out(world: World, proposal: OpenProposal) -> list[Answered]:
    """One decision for each volume with replicas that are moved."""
    volumes = sorted({move.subject for move in proposal.moves})
    return [
        _moved(world, volume, [one for one in proposal.moves if one.subject == volume], proposal)
        for volume in volumes
    ]


def _moved(
    world: World, volume: Subject, moves: Sequence[Proposed], proposal: OpenProposal
) -> Answered:
    fact, copies = wanted(world, volume), world.disks.volumes[volume]
    assert fact is not None, f"{volume} is moved and not there"
    replicas = {one.number: one for one in copies.replicas}
    used = copies.used
    steps: list[Step] = []
    released: list[Gone] = []
    for move in moves:
        before = numbered(volume, copies, move.thing)
        assert before is not None, f"{move.thing} is moved and not there"
        used += 1
        replicas[used] = Replica(used, Address(*_address(move.into)))
        del replicas[before.number]
        released.append(Gone(move.thing, *before.at, why="proposal"))
        steps.append(_step(replica_name(volume, used), move))
    rules = rules_of(world.policy.disk, fact)
    was = Counter(one.at for one in copies.replicas)
    is_ = Counter(one.at for one in replicas.values())
    hosts = world.disks.hosts
    return Answered(
        subject=volume,
        algorithm=SYSTEM,
        version=world.policy.algorithms.disk,
        inputs=digest(
            {
                "proposal": proposal.number,
                "replicas": [[one.number, *one.at] for one in copies.replicas],
                "moves": [[move.thing, move.out, move.into] for move in moves],
            }
        ).hex(),
        branch=MOVED,
        outcome=DiskPlacement(
            volume=str(volume),
            uid=fact.uid,
            wanted=fact.replicas,
            size=copies.size,
            previous_size=copies.size,
            replicas=tuple(
                InForce(
                    replica_name(volume, number),
                    number,
                    hosts[replicas[number].at.host].cluster,
                    hosts[replicas[number].at.host].node,
                    replicas[number].at.disk,
                )
                for number in sorted(replicas)
            ),
            complete=question_of(volume) not in world.refusals,
            released=tuple(released),
            steps=tuple(steps),
            alpha=rules.alpha,
            scope=rules.scope,
            because=("approved",),
            proposal=proposal.number,
        ),
        moved=min((is_ - was).total(), (was - is_).total()),
    )


def _step(name: str, move: Proposed) -> Step:
    return Step(
        replica=name,
        why="proposal",
        instead=move.thing,
        rung=_PROPOSAL,
        rule=_PROPOSAL,
        overcommitted=False,
        candidates=1,
        nodes=(),
        disks=(),
        losers=NO_LOSERS,
    )


def _address(name: str) -> CoreAddress:
    """A disk by its host and its name there; no name of a disk has a slash."""
    host, _, disk = name.rpartition("/")
    return NodeName(host), disk
