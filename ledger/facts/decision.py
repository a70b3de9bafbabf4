"""What was decided: the record under the digest, and its one spelling.

A decision names the event that made it due (or the deadline that ran out before that event), the
rule that answered, the policy and the lot it used, the digest of everything that went in, the
decision about the same subject before it, the answer, and the numbers that let a reader redo it.
Nothing in it depends on when or where it was computed; whoever folds the same log writes the same
bytes.

``record`` spells a decision, ``from_record`` reads it back; the leaf of the decision tree is taken
over the spelling. What SQL shows of a decision is read from here by ``ledger.log``.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ledger.facts import (
    admission,
    allocation,
    capacity_class,
    deployment,
    disk_placement,
    division,
    eviction,
    incident,
    proposal,
    refusal,
    repair,
)
from ledger.facts.admission import Admission
from ledger.facts.allocation import Allocation
from ledger.facts.canonical import Plain, canonical
from ledger.facts.capacity_class import CapacityClass
from ledger.facts.deployment import Deployment
from ledger.facts.disk_placement import DiskPlacement
from ledger.facts.division import Division
from ledger.facts.eviction import Eviction
from ledger.facts.incident import Incident
from ledger.facts.proposal import Proposal
from ledger.facts.reason import Deadline, Kind
from ledger.facts.refusal import Refusal
from ledger.facts.repair import Repair
from ledger.units import DecisionNumber, FleetName, Incarnation, Position, Subject

RECORD_LAYOUT: Final = 1


@dataclass(frozen=True, slots=True)
class LotUse:
    """Which stream a draw read from, and who was drawn, in order."""

    salt: str
    workload: str
    epoch: int
    draws: tuple[str, ...]


Outcome = (
    Division
    | CapacityClass
    | Admission
    | Deployment
    | Allocation
    | Eviction
    | DiskPlacement
    | Repair
    | Proposal
    | Incident
    | Refusal
)


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision of a fleet, complete."""

    fleet: FleetName
    incarnation: Incarnation
    number: DecisionNumber
    position: Position
    """Of the event that made it due, or before which a deadline did."""
    deadline: Deadline | None
    """What ran out before that event; None where the event itself made it due."""
    subject: Subject
    algorithm: str
    version: int
    policy: str
    """Digest of the policy and genesis in force, in hex."""
    lot: LotUse | None
    inputs: str
    """Digest of everything the rule was given, in hex."""
    previous: DecisionNumber | None
    """The decision about the same subject before it, of whatever kind but incident, proposal
    and repair, and but the answers to admissions: each of those names the one about the same pod
    template before it. If that is a refusal of what this one serves or refuses anew, this one ends it. A proposal names the
    one whose place it takes, and a repair or a refused approval the proposal that it closes."""
    branch: str
    outcome: Outcome
    moved: int

    @property
    def kind(self) -> Kind:
        """What kind of decision this is."""
        return self.outcome.kind


def record(decision: Decision) -> bytes:
    """The one spelling of a decision."""
    return canonical(as_plain(decision))


def as_plain(decision: Decision) -> Mapping[str, Plain]:
    """A decision as plain data: what its record spells."""
    lot = decision.lot
    deadline = decision.deadline
    return {
        "record": RECORD_LAYOUT,
        "fleet": decision.fleet,
        "incarnation": decision.incarnation,
        "number": decision.number,
        "position": decision.position,
        "deadline": None
        if deadline is None
        else {"at": deadline.at, "kind": deadline.kind, "subject": deadline.subject},
        "kind": decision.kind,
        "subject": decision.subject,
        "algorithm": decision.algorithm,
        "version": decision.version,
        "policy": decision.policy,
        "lot": None
        if lot is None
        else {
            "salt": lot.salt,
            "workload": lot.workload,
            "epoch": lot.epoch,
            "draws": lot.draws,
        },
        "inputs": decision.inputs,
        "previous": decision.previous,
        "branch": decision.branch,
        "moved": decision.moved,
        "result": result(decision.outcome),
        "reasons": reasons(decision.outcome),
    }


def result(outcome: Outcome) -> Plain:
    """The answer as plain data: what ``ledger_api.decisions.result`` shows."""
    match outcome:
        case Division():
            return division.result(outcome)
        case CapacityClass():
            return capacity_class.result(outcome)
        case Admission():
            return admission.result(outcome)
        case Deployment():
            return deployment.result(outcome)
        case Incident():
            return incident.result(outcome)
        case DiskPlacement():
            return disk_placement.result(outcome)
        case Repair():
            return repair.result(outcome)
        case Proposal():
            return proposal.result(outcome)
        case Allocation():
            return allocation.result(outcome)
        case Eviction():
            return eviction.result(outcome)
        case Refusal():
            return refusal.result(outcome)


def reasons(outcome: Outcome) -> Plain:
    """The numbers behind the answer: what ``ledger_api.decisions.reasons`` shows."""
    match outcome:
        case Division():
            return division.reasons(outcome)
        case CapacityClass():
            return capacity_class.reasons(outcome)
        case Admission():
            return admission.reasons(outcome)
        case Deployment():
            return deployment.reasons(outcome)
        case Incident():
            return incident.reasons(outcome)
        case DiskPlacement():
            return disk_placement.reasons(outcome)
        case Repair():
            return repair.reasons(outcome)
        case Proposal():
            return proposal.reasons(outcome)
        case Allocation():
            return allocation.reasons(outcome)
        case Eviction():
            return eviction.reasons(outcome)
        case Refusal():
            return refusal.reasons(outcome)


def from_record(spelled: bytes) -> Decision:
    """Read a recorded decision back; ``record(from_record(x)) == x`` for every recorded x."""
    plain = json.loads(spelled)
    assert plain["record"] == RECORD_LAYOUT, f"record layout {plain['record']} is not known here"
    lot = plain["lot"]
    deadline = plain["deadline"]
    return Decision(
        fleet=plain["fleet"],
        incarnation=plain["incarnation"],
        number=plain["number"],
        position=plain["position"],
        deadline=None if deadline is None else Deadline(**deadline),
        subject=plain["subject"],
        algorithm=plain["algorithm"],
        version=plain["version"],
        policy=plain["policy"],
        lot=None
        if lot is None
        else LotUse(lot["salt"], lot["workload"], lot["epoch"], tuple(lot["draws"])),
        inputs=plain["inputs"],
        previous=plain["previous"],
        branch=plain["branch"],
        outcome=_outcome(plain),
        moved=plain["moved"],
    )


def _outcome(plain: dict[str, Any]) -> Outcome:
    answer, why = plain["result"], plain["reasons"]
    match plain["kind"]:
        case "division":
            return division.read(answer, why)
        case "capacity_class" if admission.is_one(answer):
            return admission.read(answer, why)
        case "capacity_class":
            return capacity_class.read(answer, why)
        case "deployment":
            return deployment.read(answer, why)
        case "incident":
            return incident.read(answer, why)
        case "disk_placement":
            return disk_placement.read(answer, why)
        case "repair":
            return repair.read(answer, why)
        case "proposal":
            return proposal.read(answer, why)
        case "allocation":
            return allocation.read(answer, why)
        case "eviction":
            return eviction.read(answer, why)
        case "refusal":
            return refusal.read(answer, why)
        case unknown:
            raise AssertionError(f"a decision of kind {unknown!r} cannot be read here")
