"""How much a proposal may be."""

from ledger.decisions.proposal import MOST_MOVES
from ledger.facts.proposal import Proposal
from tests.histories import (
    History,
    cluster_up,
    deployed,
    each_takes,
    node_up,
    only,
    requested,
    workload_up,
)


def test_nobody_gets_more_moves_than_one_event_can_carry_out() -> None:
    log = History()
    wanted = 2 * MOST_MOVES + 4
    log.add_all(
        cluster_up("m1"),
        node_up("m1", "n1", memory=wanted),
        workload_up("ns/a", wanted, cluster="m1", deploy=deployed(), request=each_takes(memory=1)),
        node_up("m1", "n2", memory=wanted),
    )

    proposal = only(log.add(requested("deployments", "ns/a@m1", max_moves=10**6))).outcome

    assert isinstance(proposal, Proposal)
    assert (len(proposal.moves), proposal.max_moves) == (MOST_MOVES, MOST_MOVES)
    assert proposal.ended == "max_moves"
    assert [int(move.thing) for move in proposal.moves] == [*range(wanted - 1, MOST_MOVES + 3, -1)]
