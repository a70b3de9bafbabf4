"""A slow, literal model of admissions: one list of rows, looked through from end to end for everything.

It is told what happened, in order, and says how each admission is answered. What a reservation is
called it is told, too: by the decision that opens it. Nodes it does not know, so no pod has its class
from one.
"""

from dataclasses import dataclass, field
from typing import Any

from ledger.facts.cluster import InventoryListed
from ledger.facts.event import Fact
from ledger.facts.own import AdmissionBypassed, AdmissionRequested, PodsListed
from ledger.facts.policy import PolicyValue
from ledger.facts.workload import PodDeleted, PodObserved, ReplicaSetUpserted, WorkloadUpserted

TEN_MINUTES = 600_000_000


@dataclass
class Row:
    replicaset: str
    kind: str | None
    """None: as the pod's label says."""
    state: str
    name: str | None = None
    pod: str | None = None
    expires: int = 0
    overdue: bool = False
    seen: int = -1
    lost_at: int = 0


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


@dataclass
class NaiveAdmissions:
    """All that was ever said, as far as it matters."""

    pods: dict[str, PodObserved] = field(default_factory=dict)
    reported: dict[str, int] = field(default_factory=dict)
    """When each pod was reported last."""
    dead: dict[str, set[str]] = field(default_factory=dict)
    replicasets: dict[str, ReplicaSetUpserted] = field(default_factory=dict)
    workloads: dict[str, WorkloadUpserted] = field(default_factory=dict)
    readable: dict[str, str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    """Oldest first."""
    asked: dict[str, Asked] = field(default_factory=dict)
    to_forget: list[tuple[int, str]] = field(default_factory=list)
    late: int = 0
    """Pods that came after their reservations had lapsed."""
    patience: int = 60_000
    now: int = 0
    position: int = -1

    def add(self, fact: Fact, *, subject: str, at: int, number: int) -> dict[str, Any] | None:
        """What the admission that is due is answered, by a decision of this number."""
        self.now = at
        self.position += 1
        for row in self.rows:
            if row.state == "open" and row.expires <= at:
                row.overdue = True
        while self.to_forget and self.to_forget[0][0] <= at:
            self._forget(self.to_forget.pop(0)[1])
        match fact:
            case PodObserved():
                self._pod(fact, subject)
            case PodDeleted():
                gone = self.pods.pop(subject, None)
                if gone is not None:
                    self._rows_gone(gone)
                self._heard(fact.cluster, at)
            case InventoryListed(noun="pod"):
                for name in sorted(self.pods):
                    covered = fact.through is None or self.reported[name] <= fact.through
                    if covered and name.startswith(fact.cluster) and name not in fact.keys:
                        self._rows_gone(self.pods.pop(name))
                through = at if fact.through is None else min(at, fact.through)
                for row in self.rows:
                    where = row.replicaset.rpartition("/")[0]
                    there = row.pod is not None and f"{where}/{row.pod}" in fact.keys
                    if there and row.state == "lost" and row.lost_at <= through:
                        row.state, row.seen = "confirmed", self.position
                self._heard(fact.cluster, through)
            case ReplicaSetUpserted():
                self.replicasets[subject] = fact
            case WorkloadUpserted():
                self.workloads[subject] = fact
                if fact.min_available is not None and fact.min_available.rstrip("%").isdigit():
                    self.readable[subject] = fact.min_available
            case AdmissionRequested():
                return self._requested(fact, number)
            case AdmissionBypassed():
                told = self.asked.get(fact.uid)
                if told is not None and told.state == "to be listed":
                    del self.asked[fact.uid]
                elif told is not None and told.row in self.rows:
                    assert told.row is not None
                    if told.row.state in ("open", "lapsed"):
                        self._drop(told.row)
            case PodsListed():
                return self._listed(fact, number)
            case _:
                pass
        return None

    def setting(self, change: dict[str, PolicyValue]) -> None:
        """What the policy says of reservations."""
        patience = change.get("spot.reservation_ms")
        if isinstance(patience, int):
            self.patience = patience

    def _pod(self, fact: PodObserved, subject: str) -> None:
        if fact.uid in self.dead.get(subject, set()):
            return
        before = self.pods.get(subject)
        if before is not None and (before.uid != fact.uid or before.owner != fact.owner):
            self._rows_gone(before)
        if before is not None and before.uid != fact.uid:
            self.dead.setdefault(subject, set()).add(before.uid)
        self.pods[subject], self.reported[subject] = fact, self.now
        above = _above(fact)
        if above is not None and any(row.replicaset == above for row in self.rows):
            self._seen(fact, above)
        self._heard(fact.cluster, self.now)

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
            if not _is_active(fact):
                return
            mine = [Row(above, None, "confirmed")]
            self.rows += mine
        (row,) = mine
        row.pod, row.seen, row.overdue = fact.name, self.position, False
        if not _is_active(fact):
            row.state = "released"
        elif row.state != "released":
            self.late += row.state == "lapsed"
            row.state = "confirmed"

    def _rows_gone(self, pod: PodObserved) -> None:
        for row in list(self.rows):
            if (row.replicaset, row.pod) == (_above(pod), pod.name):
                self._drop(row)

    def _drop(self, row: Row) -> None:
        self.rows = [one for one in self.rows if one is not row]

    def _heard(self, cluster: str, through: int) -> None:
        for row in self.rows:
            if row.replicaset.split("/")[0] == cluster and row.overdue and row.expires <= through:
                row.state, row.overdue = "lapsed", False

    def _requested(self, fact: AdmissionRequested, number: int) -> dict[str, Any] | None:
        if fact.uid in self.asked:
            return None
        kind, workload, replicaset = self._whose(fact)
        asked = Asked(fact, self.position, replicaset, workload, kind)
        self.asked[fact.uid] = asked
        self.to_forget.append((self.now + TEN_MINUTES, fact.uid))
        if replicaset is not None and not any(row.replicaset == replicaset for row in self.rows):
            for name in sorted(self.pods):
                pod = self.pods[name]
                if _above(pod) == replicaset and _is_active(pod):
                    self.rows.append(
                        Row(replicaset, None, "confirmed", pod=pod.name, seen=self.position)
                    )
        return self._answer(asked, number)

    def _whose(self, fact: AdmissionRequested) -> tuple[str, str | None, str | None]:
        owner, within = fact.owner, f"{fact.cluster}/{fact.namespace}"
        if owner.kind == "StatefulSet":
            return "StatefulSet", f"{fact.namespace}/{owner.name}", None
        if owner.kind == "Deployment":
            name = f"{within}/{owner.name}-{fact.template_hash}"
            return "Deployment", f"{fact.namespace}/{owner.name}", name
        if owner.kind != "ReplicaSet":
            return "", None, None
        known = self.replicasets.get(f"{within}/{owner.name}")
        if known is not None:
            if known.owner is None or known.owner.kind != "Deployment":
                return "", None, None
            name = known.owner.name
        else:
            name, dash, hash_ = owner.name.rpartition("-")
            if not dash or not hash_ or hash_ != fact.template_hash:
                return "", None, None
        return "Deployment", f"{fact.namespace}/{name}", f"{within}/{owner.name}"

    def _listed(self, fact: PodsListed, number: int) -> dict[str, Any] | None:
        asked = self.asked.get(fact.admission_uid)
        if asked is None or asked.replicaset is None:
            return None
        if asked.fact.template_hash != fact.template_hash:
            return None
        for row in self.rows:
            if row.replicaset != asked.replicaset:
                continue
            if row.name is not None:
                there: bool | None = row.name in fact.present
            else:
                there = None if fact.others is None else row.pod in fact.others
            if there and row.state != "released":
                self.late += row.state == "lapsed"
                row.state, row.seen, row.overdue = "confirmed", self.position, False
            elif there is False and row.state == "confirmed" and row.seen <= asked.position:
                row.state = "released"
        return self._answer(asked, number) if asked.state == "to be listed" else None

    def _answer(self, asked: Asked, number: int) -> dict[str, Any]:
        fact = asked.fact
        workload = self.workloads.get(asked.workload or "")
        answer: dict[str, Any] = {
            "class": None,
            "name": None,
            "flags": [],
            "retired": [],
            "lost": [],
        }
        due = None
        if workload is None or workload.kind != asked.kind:
            answer["flags"].append("workload_unknown")
        else:
            due = self._due(workload, answer["flags"])
        state = "answered"
        if due is not None and workload is not None and workload.kind == "StatefulSet":
            self._by_place(fact, workload, due, answer)
        elif due is not None and workload is not None:
            state = self._by_slots(asked, due, answer, single=workload.replicas <= 1, number=number)
        elif fact.dry_run:
            answer["flags"].append("dry_run")
        asked.state = state
        if fact.dry_run:
            del self.asked[fact.uid]
        return answer

    def _due(self, workload: WorkloadUpserted, flags: list[str]) -> int | None:
        count, text = workload.replicas, workload.min_available
        if count <= 1:
            return 1
        if text is None:
            return None
        if not text.rstrip("%").isdigit():
            flags.append("annotation_invalid")
            text = self.readable.get(f"{workload.namespace}/{workload.name}")
            if text is None:
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
        self, fact: AdmissionRequested, workload: WorkloadUpserted, due: int, answer: dict[str, Any]
    ) -> None:
        digits = fact.pod_index
        if digits is None or not digits.isdigit():
            parent, _, digits = (fact.name or "").rpartition("-")
            if parent != workload.name or not digits.isdigit():
                answer["flags"].append("ordinal_unknown")
                answer["flags"] += ["dry_run"] * fact.dry_run
                return
        wanted = "od" if 0 <= int(digits) - fact.ordinals_start < due else "spot"
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
        known = self.replicasets.get(asked.replicaset or "")
        while True:
            live = [row for row in mine if row.state in ("open", "confirmed")]
            if known is None or not live or len(live) + 1 <= known.replicas:
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
                chosen.state, chosen.lost_at = "lost", self.now
                gone["lost"].append(chosen.name or chosen.pod)
        taken = sum(self._kind(row) == "od" for row in live)
        wanted = "od" if single or taken < due else "spot"
        answer["class"] = fact.user_pin or wanted
        flags += ["foreign_reservation_ignored"] * (fact.carried is not None)
        flags += ["dry_run"] * fact.dry_run
        if fact.dry_run:
            for row, state in zip(mine, states, strict=True):
                row.state = state
                row.overdue = state == "open" and row.expires <= self.now
        else:
            answer |= gone
            flags += ["assumed_loss"] * bool(gone["lost"])
            assert asked.replicaset is not None
            row = Row(asked.replicaset, answer["class"], "open", f"shop/1/{number}")
            row.expires = self.now + 1000 * self.patience
            self.rows.append(row)
            asked.row = row
            answer["name"] = row.name
        flags += ["conflict_user_pin"] * ((wanted, fact.user_pin) == ("od", "spot"))
        return "answered"

    def _kind(self, row: Row) -> str:
        if row.kind is not None:
            return row.kind
        pod = self.pods[f"{row.replicaset.rpartition('/')[0]}/{row.pod}"]
        return "od" if pod.capacity_class == "on-demand" else "spot"

    def _forget(self, uid: str) -> None:
        asked = self.asked.get(uid)
        if asked is None:
            return
        row = asked.row
        if row is not None and any(row is one for one in self.rows) and row.pod is None:
            if row.state in ("open", "confirmed"):
                self.to_forget.append((self.now + TEN_MINUTES, uid))
                return
            self._drop(row)
        del self.asked[uid]


def _above(pod: PodObserved) -> str | None:
    if pod.owner is None or pod.owner.kind != "ReplicaSet":
        return None
    return f"{pod.cluster}/{pod.namespace}/{pod.owner.name}"


def _is_active(pod: PodObserved) -> bool:
    return not pod.terminating and pod.phase not in ("Succeeded", "Failed")
