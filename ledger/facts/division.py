"""A workload's replicas over clusters: what was divided, and the numbers that it followed from."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from ledger.facts.canonical import Plain
from ledger.facts.reason import Cause, Losers, losers_plain, losers_read, pairs
from ledger.units import ClusterName, Replicas, Weight

Draw = Literal["winners", "keepers"]
"""What a lot decides: who receives one of the residual replicas, or who keeps the one it holds."""


class ClusterShare(NamedTuple):
    """One cluster in a division: ``replicas`` is what it got, the rest is how that came about.

    A tuple, because a fleet of a hundred clusters makes a hundred of them for each decision.
    """

    cluster: ClusterName
    weight: Weight | None
    """What it was divided by: as wished, or by its room; None where it took no part, or where
    nothing is divided."""
    replicas: Replicas
    previous: Replicas
    available: Replicas | None = None
    """How many more it could take; None where the strategy does not ask."""
    floor: Replicas | None = None
    """The whole part of its weighted share, or its cap. This and what follows: static weight only."""
    remainder: int | None = None
    """What the share has beyond its whole part, in parts of the open weight."""
    ceiling: Replicas | None = None
    """The most it may hold: one more than the floor, unless a cap or no weight forbids it."""
    odds: int | None = None
    """Its chance in the draw, in parts of everybody's; None where it was not in a draw."""
    residual: bool | None = None
    """Whether it holds one of the replicas that the whole parts leave over."""


class Fairness(NamedTuple):
    """What the shares of a division by static weight were made from."""

    inertia: str
    kappa: Fraction
    """How far weights and not capacities made the odds."""
    total_weight: int
    open_weight: int
    """The weight of the clusters whose cap is not filled."""
    open_replicas: Replicas
    """What is left for those once the filled ones have their cap."""
    drawn: Draw | None
    """What the lot decided; None where nothing was left to luck."""


class Chosen(NamedTuple):
    """A cluster that takes part because of a spread constraint."""

    cluster: ClusterName
    score: int
    room: Replicas
    """How many it could take, what it holds included."""
    why: str


class Swap(NamedTuple):
    """A place that went from one cluster to another for room, and the room of all places then."""

    out: ClusterName
    into: ClusterName
    room: Replicas


class ChosenRegion(NamedTuple):
    """A region that was weighed."""

    region: str
    score: int
    why: str


@dataclass(frozen=True, slots=True)
class Selection:
    """Who takes part where a wish says over how many clusters or regions; who does not is a loser."""

    need: Replicas | None
    """For how many replicas there had to be room; None where nobody asked."""
    chosen: tuple[Chosen, ...]
    """In the order of the places."""
    swaps: tuple[Swap, ...]
    regions: tuple[ChosenRegion, ...]


@dataclass(frozen=True, slots=True)
class Division:
    """A workload's replicas over clusters, in the order of the clusters' names."""

    namespace: str
    workload: str
    uid: str
    replicas: Replicas
    """As many in all; on every cluster where they are duplicated."""
    strategy: str
    shares: tuple[ClusterShare, ...]
    left: tuple[tuple[ClusterName, Replicas], ...]
    """Clusters that held some and take no part any more, with what they held."""
    losers: Losers
    """Clusters that were named or matched and could not take part, or were not selected."""
    because: tuple[Cause, ...]
    fairness: Fairness | None = None
    """For static weight."""
    target: Replicas | None = None
    """How many were divided by room; the others stayed where they were."""
    names_descend: bool | None = None
    """Whether the later name came first among equal claims; None where claims are not compared."""
    selection: Selection | None = None
    """None where the wish does not ask to be spread."""

    kind: Literal["division"] = "division"


def result(division: Division) -> Plain:
    """The answer."""
    return {
        "namespace": division.namespace,
        "workload": division.workload,
        "uid": division.uid,
        "replicas": division.replicas,
        "allocation": {share.cluster: share.replicas for share in division.shares},
    }


def reasons(division: Division) -> Plain:
    """The numbers behind it."""
    return {
        "because": division.because,
        "strategy": division.strategy,
        "fairness": _fairness_plain(division.fairness),
        "target": division.target,
        "names_descend": division.names_descend,
        "selection": _selection_plain(division.selection),
        "clusters": [
            {name: value for name, value in share._asdict().items() if name != "replicas"}
            for share in division.shares
        ],
        "left": division.left,
        "losers": losers_plain(division.losers),
    }


def read(answer: dict[str, Any], why: dict[str, Any]) -> Division:
    """What ``result`` and ``reasons`` spelled."""
    return Division(
        namespace=answer["namespace"],
        workload=answer["workload"],
        uid=answer["uid"],
        replicas=answer["replicas"],
        strategy=why["strategy"],
        shares=tuple(
            ClusterShare(replicas=answer["allocation"][row["cluster"]], **row)
            for row in why["clusters"]
        ),
        left=pairs(why["left"]),
        losers=losers_read(why["losers"]),
        because=tuple(why["because"]),
        fairness=_fairness(why["fairness"]),
        target=why["target"],
        names_descend=why["names_descend"],
        selection=_selection(why["selection"]),
    )


def _fairness_plain(fairness: Fairness | None) -> Plain:
    if fairness is None:
        return None
    kappa = fairness.kappa
    return {**fairness._asdict(), "kappa": [kappa.numerator, kappa.denominator]}


def _fairness(plain: dict[str, Any] | None) -> Fairness | None:
    if plain is None:
        return None
    return Fairness(**{**plain, "kappa": Fraction(*plain["kappa"])})


def _selection_plain(selection: Selection | None) -> Plain:
    if selection is None:
        return None
    return {
        "need": selection.need,
        "chosen": [one._asdict() for one in selection.chosen],
        "swaps": [swap._asdict() for swap in selection.swaps],
        "regions": [region._asdict() for region in selection.regions],
    }


def _selection(plain: dict[str, Any] | None) -> Selection | None:
    if plain is None:
        return None
    return Selection(
        need=plain["need"],
        chosen=tuple(Chosen(**one) for one in plain["chosen"]),
        swaps=tuple(Swap(**one) for one in plain["swaps"]),
        regions=tuple(ChosenRegion(**one) for one in plain["regions"]),
    )
