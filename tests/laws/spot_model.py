"""On-demand and spot, the slow way: rows in a list, rules in a loop, every value tried out.

Nothing here is shared with the core, so a mistake here and a mistake there are unlikely to be the
same mistake. The JSON patch is applied as RFC 6902 says, by somebody who knows nothing of pods.
"""

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

Json = Any


@dataclass
class Row:
    number: int
    template: str
    kind: str
    state: str


@dataclass
class Rows:
    """A Deployment's reservations, one row each, and every rule by looking through them all."""

    rows: list[Row] = field(default_factory=list)
    replicas: dict[str, int] = field(default_factory=dict)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)

    def live(self, template: str) -> list[Row]:
        return [r for r in self.rows if r.template == template and r.state in ("open", "seen")]

    def on_demand(self, template: str) -> int:
        return sum(row.kind == "od" for row in self.live(template))

    def admit(
        self,
        uid: str,
        template: str,
        due: int | None,
        *,
        single: bool = False,
        carried: int | None = None,
        dry_run: bool = False,
        pin: str | None = None,
    ) -> dict[str, Any]:
        if uid in self.answers:
            return self.answers[uid]
        if dry_run:
            answer = deepcopy(self).admit(
                uid, template, due, single=single, carried=carried, pin=pin
            )
            if "reinvocation" in answer["flags"]:
                return answer
            kept = [flag for flag in answer["flags"] if flag != "assumed_loss"]
            flags = [*kept, "dry_run"]
            return answer | {"number": None, "flags": flags, "retired": [], "lost": []}
        flags, retired, lost = [], [], []
        if carried is not None:
            for row in self.rows:
                if (row.number, row.template, row.state) == (carried, template, "open"):
                    answer = {"class": row.kind, "number": carried, "flags": ["reinvocation"]}
                    self.answers[uid] = answer | {"retired": [], "lost": []}
                    return self.answers[uid]
            flags.append("foreign_reservation_ignored")
        if due is None:
            self.answers[uid] = {"class": None, "number": None, "flags": flags}
            self.answers[uid] |= {"retired": [], "lost": []}
            return self.answers[uid]
        while template in self.replicas and len(self.live(template)) + 1 > self.replicas[template]:
            still_open = [row for row in self.live(template) if row.state == "open"]
            on_demand = [row for row in self.live(template) if row.kind == "od"]
            if still_open:
                still_open[0].state = "given_up"
                retired.append(still_open[0].number)
            elif self.live(template):
                gone = (on_demand or self.live(template))[0]
                gone.state = "assumed_lost"
                lost.append(gone.number)
            else:
                break
        kind = "od" if single or self.on_demand(template) < due else "spot"
        self.rows.append(Row(len(self.rows) + 1, template, pin or kind, "open"))
        self.answers[uid] = {
            "class": pin or kind,
            "number": len(self.rows),
            "flags": flags + ["assumed_loss"] * bool(lost),
            "retired": retired,
            "lost": lost,
        }
        return self.answers[uid]

    def pod_seen(self, number: int) -> bool:
        row = self.rows[number - 1]
        late = row.state == "given_up"
        if row.state != "gone":
            row.state = "seen"
        return late

    def pod_gone(self, number: int) -> None:
        self.rows[number - 1].state = "gone"

    def expire(self, number: int) -> None:
        row = self.rows[number - 1]
        row.state = "given_up" if row.state == "open" else row.state

    def adopt(self, template: str, kind: str) -> None:
        self.rows.append(Row(len(self.rows) + 1, template, kind, "seen"))

    def listed(self, template: str, present: list[int]) -> None:
        for row in self.rows:
            if row.template == template:
                if row.number in present:
                    self.pod_seen(row.number)
                elif row.state == "seen":
                    row.state = "gone"


def applied(document: Json, operations: list[tuple[str, Json]]) -> Json:
    """The document with each value added at its pointer; an address that is not there raises."""
    document = deepcopy(document)
    for path, value in operations:
        assert path.startswith("/"), path
        *parents, leaf = [s.replace("~1", "/").replace("~0", "~") for s in path[1:].split("/")]
        at = document
        for step in parents:
            at = at[int(step)] if isinstance(at, list) else at[step]
        if isinstance(at, list):
            place = len(at) if leaf == "-" else int(leaf)
            assert 0 <= place <= len(at)
            at.insert(place, deepcopy(value))
        else:
            assert isinstance(at, dict), f"{path}: the parent is no container"
            at[leaf] = deepcopy(value)
    return document


def number(text: str | None) -> int | None:
    """What Go reads, for the short texts of these laws."""
    if text is None or not text.removeprefix("-").isdecimal():
        return None
    return int(text)


def condition(requirement: Json, value: str | None) -> bool:
    """One requirement on a label, case by case."""
    operator, values = requirement.get("operator"), requirement.get("values") or []
    if operator in ("Exists", "DoesNotExist"):
        return not values and bool((value is not None) == (operator == "Exists"))
    if not values:
        return False
    if operator in ("In", "NotIn"):
        return bool((value in values) == (operator == "In"))
    if operator in ("Gt", "Lt") and len(values) == 1:
        have, bound = number(value), number(values[0])
        if have is None or bound is None:
            return False
        return have > bound if operator == "Gt" else have < bound
    return False


def pin(pod: Json, key: str, on_demand: str, every_value: list[str]) -> str | None:
    """What the user pinned, found by trying every value that could matter."""
    spec = pod.get("spec") or {}
    selected = (spec.get("nodeSelector") or {}).get(key)
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity")) or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = []
    for term in required.get("nodeSelectorTerms") or []:
        expressions = term.get("matchExpressions") or []
        if expressions or term.get("matchFields"):
            terms.append([one for one in expressions if one.get("key") == key])

    def admitted(value: str | None) -> bool:
        return any(all(condition(one, value) for one in term) for term in terms)

    if selected not in (None, on_demand) or (terms and not admitted(on_demand)):
        return "spot"
    others = [None, *(value for value in every_value if value != on_demand)]
    if selected == on_demand or (terms and not any(map(admitted, others))):
        return "od"
    return None


def runs_on(pod: Json, name: str, labels: dict[str, str]) -> bool:
    """Whether the scheduler lets a pod onto a node, as far as selector and affinity go."""
    spec = pod.get("spec") or {}
    selector = spec.get("nodeSelector") or {}
    if any(value is not None and labels.get(key) != value for key, value in selector.items()):
        return False
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity")) or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    for term in required.get("nodeSelectorTerms") or []:
        on_labels, on_fields = term.get("matchExpressions") or [], term.get("matchFields") or []
        if (
            (on_labels or on_fields)
            and all(condition(one, labels.get(one["key"])) for one in on_labels)
            and all(condition(one, name) for one in on_fields)
        ):
            return True
    return False
