"""Whether nothing else went into a division than what its record and its workload's event say.

A record has the digest of everything that its rule was given. What was given to a division can be put
together again from the record, its last result and the wish; if that has the same digest, the list is
complete. Two things are not in every record: the salt of the fleet and how often the workload had
drawn, where no lot was drawn. The salt is tried as the fleet's name, the count up to a bound. A division
that was spread over regions cannot be put together: the regions of the others are not recorded.

So what does not come out is not shown to be wrong, it is only not shown here; ``ledger replay`` shows it.
"""

from collections.abc import Iterator
from typing import Final, cast

from ledger.cli.explain.derivation import Derivation
from ledger.cli.explain.redoing import caps_of
from ledger.core.division.static_weight import Inertia, Last, Request
from ledger.core.lot import Lot
from ledger.decisions.division import STATIC, Given, spelled
from ledger.facts.canonical import digest
from ledger.facts.division import Division
from ledger.units import ClusterName, Replicas, Weight

MOST_DRAWN: Final = 1_000
"""How many earlier draws are tried where the record does not say."""


def complete(of: Derivation) -> bool | None:
    """Whether the digest of what went in is that of what can be put together; None: it cannot be."""
    division = of.outcome
    if not isinstance(division, Division) or division.selection is not None:
        return None
    return any(digest(spelled(given)).hex() == of.decision.inputs for given in _given(of, division))


def _given(of: Derivation, division: Division) -> Iterator[Given]:
    """What may have been given: one for each thing that the record does not say."""
    static = division.strategy == STATIC
    fairness = division.fairness
    caps = {ClusterName(name): Replicas(cap) for name, cap in caps_of(of, division).items()}
    room = {share.cluster: share.available for share in division.shares}
    told = any(available is not None for available in room.values())
    kappas = [None if fairness is None else fairness.kappa]
    if static and not told:
        kappas = [None]  # Odds by weight alone are what no policy about them gives.
    for lot in _lots(of, division):
        for kappa in kappas:
            yield Given(
                strategy=division.strategy,
                version=of.decision.version,
                request=Request(
                    replicas=division.replicas,
                    weights={one.cluster: one.weight or Weight(0) for one in division.shares},
                    inertia="minimal" if fairness is None else cast("Inertia", fairness.inertia),
                    fresh="fresh" in division.because,
                    caps=(caps or None) if static else None,
                    capacities=room if told else None,
                    kappa=kappa,
                ),
                last=_last(of) if static else None,
                held=_allocation(of) if told and not static else {},
                spread=None,
                lot=lot,
                invalid=None,
                passed_over=(),
            )


def _lots(of: Derivation, division: Division) -> Iterator[Lot]:
    known = of.decision.lot
    if known is not None:
        yield Lot(known.salt, known.workload, known.epoch)
        return
    before = [one.decision.lot for one in (of.last, of.previous) if one is not None]
    salts = {lot.salt for lot in before if lot is not None} or {str(of.decision.fleet)}
    for salt in sorted(salts):
        for epoch in range(MOST_DRAWN):
            yield Lot(salt, division.uid, epoch)


def _last(of: Derivation) -> Last | None:
    last = None if of.last is None else of.last.decision.outcome
    if not isinstance(last, Division) or last.strategy != STATIC:
        return None
    return Last(
        allocation=_allocation(of),
        replicas=last.replicas,
        weights={one.cluster: one.weight or Weight(0) for one in last.shares},
    )


def _allocation(of: Derivation) -> dict[ClusterName, Replicas]:
    """The last result, with those clusters that have none of it."""
    last = None if of.last is None else of.last.decision.outcome
    if not isinstance(last, Division):
        return {}
    return {one.cluster: one.replicas for one in last.shares}
