"""A slow, literal model of admissions: one list of rows, looked through from end to end for everything.

It hears of everything that happens to a naive fleet, in order, and answers each admission as it comes,
also while the fleet holds. What a reservation is called follows from the number of the decision that
opens it. Which pods, ReplicaSets, workloads and nodes there are, the fleet says.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from ledger.facts.cluster import ClusterRemoved, InventoryListed
from ledger.facts.event import Fact
from ledger.facts.own import AdmissionBypassed, AdmissionRequested, PodsListed
from ledger.facts.workload import PodDeleted, PodObserved, WorkloadUpserted
from tests.histories import workload_up
from tests.laws.model import bytewise
from tests.laws.naive_book import is_active
from tests.laws.naive_fleet import NaiveFleet
from tests.laws.naive_part import Moment, Said

TEN_MINUTES = 600_000_000


@dataclass
class Row:
    replicaset: str
    about: str
    """The workload in a cluster that its template was of when it was first heard of."""
    kind: str | None
    """None: as the pod's label says."""
    state: str
    name: str | None = None
    pod: str | None = None
    expires: int = 0
    overdue: bool = False
    seen: int = -1
    lost_at: int = 0
    pinned: bool = False


@dataclass
class Asked:
    fact: AdmissionRequested
    position: int
    replicaset: str | None
    workload: str | None
    kind: str
    state: str = "waits"
    """Or it is to be listed first, or answered."""
    row: Row | None = None


@dataclass(slots=True)
class NaiveAdmissions:
    """All that was ever said of admissions, as far as it matters."""

    fleet: NaiveFleet
    rows: list[Row] = field(default_factory=list)
    """Oldest first."""
    asked: dict[str, Asked | None] = field(default_factory=dict)
    """None: given up before it was told."""
    due: Asked | None = None
    """What is to be answered now."""
    to_forget: list[tuple[int, str]] = field(default_factory=list)
    readable: dict[str, tuple[int, str]] = field(default_factory=dict)
    """By workload, with the life that said it."""
    known: dict[str, tuple[int, PodObserved]] = field(default_factory=dict)
    """The pods that there were, with their lives."""
    late: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Pods that came after their reservations had lapsed, by whom they are about and ReplicaSet."""

    def __post_init__(self) -> None:
        self.fleet.parts.append(self)
        self.fleet.unheld.append(self)
        self.fleet.listeners.append(self._listen)

    # As a part.

    def moments(self) -> list[Moment]:
        """The first of a template's reservations that runs out."""
        waits = [row for row in self.rows if row.state == "open" and not row.overdue]
        return [Moment(row.expires, "reservation", row.replicaset) for row in waits]

    def fired(self, moment: Moment) -> None:
        """Reservations are overdue."""
        for row in self.rows:
            if (moment.kind, moment.subject) == ("reservation", row.replicaset):
                row.overdue |= row.state == "open" and row.expires <= moment.at

    def heard(self, fact: Fact, subject: str) -> None:
        """What could be read is remembered."""
        if isinstance(fact, WorkloadUpserted):
            text = fact.min_available
            if text is not None and text.rstrip("%").isdigit():
                self.readable[subject] = self.fleet.life("workload", subject), text

    def folded(self) -> None:
        """Everything was heard."""

    def settled(self) -> None:
        """Nothing follows."""

    def decide(self, moment: Moment | None) -> list[Said]:
        """Answer the admission that is due."""
        asked, self.due = self.due, None
        if asked is None:
            return []
        number = self.fleet.number
        self.fleet.number += 1
        answer = self._answer(asked, number)
        name = asked.fact.owner.name
        if asked.workload is not None:
            name = asked.workload.partition("/")[2]
        subject = f"{asked.fact.namespace}/{name}@{asked.fact.cluster}"
        made = Said(number, self.fleet.position, None, "admission", subject, None)
        made.rows = {what: str(told) for what, told in answer.items()}
        return [made]

    # What is told.

    def _listen(self, fact: Fact, subject: str) -> None:
        """Everything, also what changed nothing else."""
        while self.to_forget and self.to_forget[0][0] <= self.fleet.now:
            self._forget(self.to_forget.pop(0)[1])
        before, self.known = (
            self.known,
            {key: (self.fleet.life("pod", key), pod) for key, pod in self.fleet.all("pod").items()},
        )
        for key, (life, pod) in before.items():
            still = self.known.get(key)
            if still is None or still[0] != life or _above(still[1]) != _above(pod):
                self._rows_gone(pod)
        match fact:
            case PodObserved() | PodDeleted() if self.fleet.effect == "stale":
                pass
            case ClusterRemoved() if self.fleet.effect == "applied":
                gone = f"{fact.name}/"
                self.rows = [row for row in self.rows if not row.replicaset.startswith(gone)]
            case PodObserved():
                above = _above(fact)
                if above is not None and any(row.replicaset == above for row in self.rows):
                    self._seen(fact, above)
                self._heard_of(fact.cluster, self.fleet.now)
            case PodDeleted():
                self._heard_of(fact.cluster, self.fleet.now)
            case InventoryListed(noun="pod"):
                self._inventory(fact)
            case AdmissionRequested():
                self._requested(fact)
            case AdmissionBypassed():
                self._bypassed(fact)
            case PodsListed():
                self._listed(fact)
            case _:
                pass

    def _inventory(self, fact: InventoryListed) -> None:
        now = self.fleet.now
        through = now if fact.through is None else min(now, fact.through)
        for row in self.rows:
            where = row.replicaset.rpartition("/")[0]
            there = row.pod is not None and f"{where}/{row.pod}" in fact.keys
            if there and row.state == "lost" and row.lost_at <= through:
                row.state, row.seen = "confirmed", self.fleet.position
                self.fleet.effect = "applied"
        self._heard_of(fact.cluster, through)

    def _bypassed(self, fact: AdmissionBypassed) -> None:
        told = self.asked.get(fact.uid)
        if fact.uid not in self.asked:
            self.asked[fact.uid] = None
            self.to_forget.append((self.fleet.now + TEN_MINUTES, fact.uid))
        elif told is not None and told.state == "to be listed":
            self.asked[fact.uid] = None
        elif told is not None and told.row in self.rows and told.row.state in {"open", "lapsed"}:
            self._drop(told.row)
        else:
            self.fleet.effect = "no_effect"

    def meant(self, fact: Fact) -> Fact:
        """With reservations of the template in the place of those that were drawn as ``?`` and a number."""
        if isinstance(fact, PodObserved):
            name = self._reservation(_above(fact), fact.reservation)
            return replace(fact, reservation=name)
        if isinstance(fact, AdmissionRequested):
            _, _, replicaset = self._whose(fact)
            return replace(fact, carried=self._reservation(replicaset, fact.carried))
        if isinstance(fact, PodsListed):
            asked = self.asked.get(fact.admission_uid)
            above = None if asked is None else asked.replicaset
            found = [self._reservation(above, name) for name in fact.present]
            present = {name for name in found if name is not None}
            return replace(fact, present=tuple(bytewise(present)))
        return fact

    def _reservation(self, replicaset: str | None, drawn: str | None) -> str | None:
        if drawn is None or not drawn.startswith("?"):
            return drawn
        names = [row.name for row in self.rows if row.replicaset == replicaset and row.name]
        return names[int(drawn[1:]) % len(names)] if names else None

    def row_of(self, pod: PodObserved) -> Row | None:
        """The row of a pod, if it has one."""
        mine = (row for row in self.rows if (row.replicaset, row.pod) == (_above(pod), pod.name))
        return next(mine, None)

    def is_coming(self, replicaset: str) -> bool:
        """Whether pods of a template were admitted and not heard of."""
        return any(row.replicaset == replicaset and row.state == "open" for row in self.rows)

    def _seen(self, fact: PodObserved, above: str) -> None:
        mine = [row for row in self.rows if (row.replicaset, row.pod) == (above, fact.name)]
        if not mine:
            mine = [
                row
                for row in self.rows
                if row.replicaset == above
                and row.name is not None
                and row.name == fact.reservation
                and row.pod is None
            ]
        if not mine:
            if not is_active(fact):
                return
            about = next(row.about for row in self.rows if row.replicaset == above)
            mine = [Row(above, about, None, "confirmed")]
            self.rows += mine
        (row,) = mine
        row.pod, row.seen, row.overdue = fact.name, self.fleet.position, False
        if not is_active(fact):
            row.state = "released"
        elif row.state != "released":
            self._confirmed(row)
            row.state = "confirmed"

    def _confirmed(self, row: Row) -> None:
        if row.state == "lapsed":
            self.late[row.about, row.replicaset] += 1

    def _rows_gone(self, pod: PodObserved) -> None:
        for row in list(self.rows):
            if (row.replicaset, row.pod) == (_above(pod), pod.name):
                self._drop(row)

    def _drop(self, row: Row) -> None:
        self.rows = [one for one in self.rows if one is not row]

    def _heard_of(self, cluster: str, through: int) -> None:
        for row in self.rows:
            if row.replicaset.split("/")[0] == cluster and row.overdue and row.expires <= through:
                row.state, row.overdue = "lapsed", False
                self.fleet.effect = "applied"

    def _requested(self, fact: AdmissionRequested) -> None:
        if fact.uid in self.asked:
            self.fleet.effect = "no_effect"
            return
        kind, workload, replicaset = self._whose(fact)
        asked = Asked(fact, self.fleet.position, replicaset, workload, kind)
        self.asked[fact.uid] = self.due = asked
        self.to_forget.append((self.fleet.now + TEN_MINUTES, fact.uid))
        if replicaset is not None and not any(row.replicaset == replicaset for row in self.rows):
            there = self.fleet.all("pod")
            for pod in (there[key] for key in bytewise(there)):
                if _above(pod) == replicaset and is_active(pod):
                    about = f"{workload}@{fact.cluster}"
                    row = Row(replicaset, about, None, "confirmed", pod=pod.name)
                    row.seen = self.fleet.position
                    self.rows.append(row)

    def _whose(self, fact: AdmissionRequested) -> tuple[str, str | None, str | None]:
        owner, within = fact.owner, f"{fact.cluster}/{fact.namespace}"
        if owner.kind == "StatefulSet":
            return "StatefulSet", f"{fact.namespace}/{owner.name}", None
        if owner.kind == "Deployment":
            name = f"{within}/{owner.name}-{fact.template_hash}"
            return "Deployment", f"{fact.namespace}/{owner.name}", name
        if owner.kind != "ReplicaSet":
            return "", None, None
        known = self.fleet.fact("replicaset", f"{within}/{owner.name}")
        if known is not None:
            if known.owner is None or known.owner.kind != "Deployment":
                return "", None, None
            name = known.owner.name
        else:
            name, dash, hash_ = owner.name.rpartition("-")
            if not dash or not hash_ or hash_ != fact.template_hash:
                return "", None, None
        return "Deployment", f"{fact.namespace}/{name}", f"{within}/{owner.name}"

    def _listed(self, fact: PodsListed) -> None:
        asked = self.asked.get(fact.admission_uid)
        if (
            asked is None
            or asked.replicaset is None
            or asked.fact.template_hash != fact.template_hash
        ):
            self.fleet.effect = "no_effect"
            return
        for row in self.rows:
            if row.replicaset != asked.replicaset:
                continue
            if row.name is not None:
                there: bool | None = row.name in fact.present
            else:
                there = None if fact.others is None else row.pod in fact.others
            if there and row.state != "released":
                self._confirmed(row)
                row.state, row.seen, row.overdue = "confirmed", self.fleet.position, False
            elif there is False and row.state == "confirmed" and row.seen <= asked.position:
                row.state = "released"
        if asked.state == "to be listed":
            self.due = asked

    def _answer(self, asked: Asked, number: int) -> dict[str, Any]:
        fact = asked.fact
        workload = self.fleet.fact("workload", asked.workload or "")
        answer: dict[str, Any] = {
            "class": None,
            "name": None,
            "flags": [],
            "retired": [],
            "lost": [],
        }
        count, due = 0, None
        is_told = workload is not None and workload.kind == asked.kind
        if not is_told:
            workload = self._read(asked)
        if workload is None:
            answer["flags"].append("workload_unknown")
        else:
            count = self._wanted(workload, fact) if is_told else workload.replicas
            due = self._due(workload, count, answer["flags"])
            answer["flags"] += ["workload_read"] * (not is_told)
        state = "answered"
        if due is not None and workload is not None and workload.kind == "StatefulSet":
            self._by_place(fact, workload, due, answer, count=count)
        elif due is not None and workload is not None:
            state = self._by_slots(asked, due, answer, single=count <= 1, number=number)
        elif fact.dry_run:
            answer["flags"].append("dry_run")
        asked.state = state
        if fact.dry_run:
            del self.asked[fact.uid]
        return answer

    def _read(self, asked: Asked) -> WorkloadUpserted | None:
        """What whoever asks has read of a workload that nobody told of."""
        fact, kind = asked.fact, asked.kind
        if asked.workload is None or fact.replicas is None:
            return None
        return workload_up(
            asked.workload,
            fact.replicas,
            kind="StatefulSet" if kind == "StatefulSet" else "Deployment",
            min_available=fact.min_available,
        )

    def _wanted(self, workload: WorkloadUpserted, fact: AdmissionRequested) -> int:
        """How many are wanted in a cluster; as long as they are not divided, all."""
        if workload.division is None and fact.replicas is not None:
            return fact.replicas
        last = self.fleet.last.get(f"{workload.namespace}/{workload.name}")
        if workload.division is None or last is None or not last.in_force:
            return workload.replicas
        return last.allocation.get(fact.cluster, 0)

    def _due(self, workload: WorkloadUpserted, count: int, flags: list[str]) -> int | None:
        text = workload.min_available
        if workload.kind not in {"Deployment", "StatefulSet"}:
            return None
        if count <= 1:
            return 1
        if text is None:
            return None
        if not text.rstrip("%").isdigit():
            flags.append("annotation_invalid")
            name = f"{workload.namespace}/{workload.name}"
            life, text = self.readable.get(name, (0, None))
            # Nothing that a workload said outlives it.
            if self.fleet.fact("workload", name) is None:
                return None
            if text is None or life != self.fleet.life("workload", name):
                return None
            flags.append("last_valid_used")
        due = int(text.rstrip("%"))
        if text.endswith("%"):
            due = next(pods for pods in range(count + 1) if 100 * pods >= due * count)
        if workload.kind == "StatefulSet" and 2 * due <= count:
            flags.append("raised_to_majority")
            due = next(pods for pods in range(count + 1) if 2 * pods > count)
        if due >= count:
            flags.append("all_on_demand")
            due = count
        return due

    def _by_place(
        self,
        fact: AdmissionRequested,
        workload: WorkloadUpserted,
        due: int,
        answer: dict[str, Any],
        *,
        count: int,
    ) -> None:
        digits = fact.pod_index
        if digits is None or not digits.isdigit():
            parent, _, digits = (fact.name or "").rpartition("-")
            if parent != workload.name or not digits.isdigit():
                answer["flags"].append("ordinal_unknown")
                answer["flags"] += ["dry_run"] * fact.dry_run
                return
        said = [fact.ordinals_start, workload.ordinals_start]
        starts = [one for one in said if one is not None]
        place = int(digits) - (starts or [0])[0]
        wanted = "od" if 0 <= place < due else "spot"
        if not starts and place >= count:
            answer["flags"].append("ordinal_beyond")
        answer["class"] = fact.user_pin or wanted
        answer["flags"] += ["dry_run"] * fact.dry_run
        answer["flags"] += ["conflict_user_pin"] * ((wanted, fact.user_pin) == ("od", "spot"))

    def _by_slots(
        self, asked: Asked, due: int, answer: dict[str, Any], *, single: bool, number: int
    ) -> str:
        fact, flags = asked.fact, answer["flags"]
        mine = [row for row in self.rows if row.replicaset == asked.replicaset]
        for row in mine:
            if fact.carried is not None and row.name == fact.carried and row.state == "open":
                answer |= {"class": row.kind, "name": row.name}
                flags.append("reinvocation")
                return "answered"
        states = [row.state for row in mine]
        gone: dict[str, list[str | None]] = {"retired": [], "lost": []}
        known = self.fleet.fact("replicaset", asked.replicaset or "")
        room = None if known is None else known.replicas
        if fact.replicaset_replicas is not None and asked.state == "waits":
            room = fact.replicaset_replicas
        while True:
            live = [row for row in mine if row.state in ("open", "confirmed")]
            if room is None or not live or len(live) + 1 <= room:
                break
            if fact.can_list and not fact.dry_run and asked.state == "waits":
                flags.append("list_first")
                return "to be listed"
            open_ = [row for row in live if row.state == "open"]
            if open_:
                open_[0].state, open_[0].overdue = "lapsed", False
                gone["retired"].append(open_[0].name)
            else:
                chosen = ([row for row in live if self._kind(row) == "od"] or live)[0]
                chosen.state, chosen.lost_at = "lost", self.fleet.now
                gone["lost"].append(chosen.name or chosen.pod)
        taken = sum(self._kind(row) == "od" for row in live)
        wanted = "od" if single or taken < due else "spot"
        answer["class"] = fact.user_pin or wanted
        flags += ["foreign_reservation_ignored"] * (fact.carried is not None)
        flags += ["dry_run"] * fact.dry_run
        if fact.dry_run:
            for row, state in zip(mine, states, strict=True):
                row.state = state
                row.overdue = state == "open" and row.expires <= self.fleet.now
        else:
            answer |= gone
            flags += ["assumed_loss"] * bool(gone["lost"])
            assert asked.replicaset is not None
            about = mine[0].about if mine else f"{asked.workload}@{fact.cluster}"
            name = f"{self.fleet.salt}/1/{number}"
            row = Row(asked.replicaset, about, answer["class"], "open", name)
            patience = self.fleet.setting("spot.reservation_ms", 60_000)
            row.expires, row.pinned = self.fleet.now + 1000 * patience, fact.user_pin is not None
            self.rows.append(row)
            asked.row = row
            answer["name"] = row.name
        flags += ["conflict_user_pin"] * ((wanted, fact.user_pin) == ("od", "spot"))
        return "answered"

    def _kind(self, row: Row) -> str:
        if row.kind is not None:
            return row.kind
        pod = self.fleet.fact("pod", f"{row.replicaset.rpartition('/')[0]}/{row.pod}")
        return self.fleet.says_of(pod) or "spot"

    def _forget(self, uid: str) -> None:
        asked = self.asked.get(uid)
        row = None if asked is None else asked.row
        if row is not None and any(row is one for one in self.rows) and row.pod is None:
            if row.state in ("open", "confirmed"):
                self.to_forget.append((self.fleet.now + TEN_MINUTES, uid))
                return
            self._drop(row)
        self.asked.pop(uid, None)


def _above(pod: PodObserved) -> str | None:
    if pod.owner is None or pod.owner.kind != "ReplicaSet":
        return None
    return f"{pod.cluster}/{pod.namespace}/{pod.owner.name}"
