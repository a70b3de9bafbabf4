"""What people ask of an invented fleet: other policies, proposals, approvals.

A proposal is approved by the number of its decision, which a simulation cannot know. It names a
number that might be one; an approval of none has no effect.
"""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Final

from ledger.cli.simulator.later import Later
from ledger.cli.simulator.luck import some
from ledger.cli.simulator.spelling import Data, Happening

_SOURCE: Final = "/people"
_FORTH_AND_BACK: Final[tuple[tuple[Data, Data], ...]] = (
    ({"division": {"kappa": "1/2"}}, {"division": {"kappa": None}}),
    ({"placement": {"global_policy": "after_usage"}}, {"placement": {"global_policy": None}}),
    ({"disk": {"alpha": "1/2"}}, {"disk": {"alpha": None}}),
    ({"disk": {"replenish_wait": 60_000}}, {"disk": {"replenish_wait": None}}),
    (
        {"fairshare": {"preempt": True, "reclaim": True}},
        {"fairshare": {"preempt": None, "reclaim": None}},
    ),
    ({"spot": {"default_min_available": "25%"}}, {"spot": {"default_min_available": None}}),
    ({"grace": {"cluster_ms": 30_000, "node_ms": 10_000}}, {"grace": None}),
    ({"round": {"max_events": 50}}, {"round": {"max_events": None}}),
)


class Control:
    """People at work; ``subject`` gives a workload or a volume that is worth a look."""

    def __init__(
        self, chance: Random, later: Later, *, fleet: str, subject: Callable[[str], str | None]
    ) -> None:
        self._chance = chance
        self._later = later
        self._fleet = fleet
        self._subject = subject
        self._proposals = 0

    def hold(self, *, on: bool) -> Happening:
        """Nothing is to be decided until everything that is there has been told."""
        return self._policy({"hold": on})

    def policy(self) -> Happening:
        """A setting is tried, and taken back after some hundred events."""
        forth, back = some(self._chance, _FORTH_AND_BACK)
        self._later.after(300, partial(self._policy, back))
        return self._policy(forth)

    def proposal(self) -> Happening:
        """Somebody wants to see what rebalancing would do; half of them like what they see."""
        self._proposals += 1
        kind = some(self._chance, ("deployments", "disks"))
        data: Data = {"kind": kind, "max_moves": 5}
        subject = self._subject(kind)
        if subject is not None:
            data["subject"] = subject
        if self._proposals % 2:
            self._later.after(40, self._approval)
        return Happening("ledger.proposal.proposal.requested.v1", _SOURCE, self._fleet, data)

    def _approval(self) -> Happening:
        number = int(self._chance.random() * 1_000)
        data: Data = {"proposal": number}
        return Happening("ledger.proposal.proposal.approved.v1", _SOURCE, str(number), data)

    def _policy(self, change: Data) -> Happening:
        return Happening("ledger.policy.policy.changed.v1", _SOURCE, self._fleet, change)
