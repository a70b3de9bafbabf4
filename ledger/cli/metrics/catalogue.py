"""Every metric there is: its name, what it counts, and what a high value means for an operator.

This is the one list: what serves a metric takes its words from here, and docs/metrics.md shows it.
Names begin with ``ledger_`` and end in their unit; what only grows ends in ``_total``.

Labels are few and bounded. ``code``, ``kind``, ``outcome``, ``reason`` and ``status`` are words of the code, ``part`` is a process of
``ledger up`` or a step of an admission. Only what is said of a fleet carries ``fleet``, for FLEETS_NAMED fleets at most: the
others share one value of the label, the worst of theirs.
"""

from dataclasses import dataclass
from typing import Final, Literal

FLEETS_NAMED: Final = 500
"""More fleets than one page of a dashboard can hold, fewer series than any monitoring minds."""

REASONS_NAMED: Final = 100
"""More than there are reason codes: a guard against a code that somebody makes up as it goes."""

OTHERS: Final = "_others"
"""The label of whatever is beyond those bounds; no fleet can have that name."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric, in words."""

    name: str
    type: Literal["counter", "gauge", "histogram"]
    means: str
    high: str
    """What a high value, or a fast growing one, tells an operator, and what to do."""
    label: Literal["code", "fleet", "kind", "outcome", "part", "reason", "status"] | None = None


LAG_EVENTS = Metric(
    "ledger_lag_events",
    "gauge",
    "Events that are in the log and not decided yet.",
    "The decider is behind or absent: see ledger_decide_leases_held, then its log.",
    "fleet",
)
LAG_SECONDS = Metric(
    "ledger_lag_seconds",
    "gauge",
    "How long the oldest of them has waited, or how long a deadline is overdue if that is longer; absent for fleets on the event clock.",
    "As above; without events a deadline passed that nobody reached. This is the one to alert on: an idle fleet shows 0.",
    "fleet",
)
OPEN_REFUSALS = Metric(
    "ledger_open_refusals",
    "gauge",
    "Questions that are refused now and asked again when what they wait for comes.",
    "Something is short: `ledger_api.open_refusals` says what, and for whom.",
    "fleet",
)
OPEN_INCIDENTS = Metric(
    "ledger_open_incidents",
    "gauge",
    "Contradictions of the book that last: nodes that declare less than is held, pods beyond what was placed,"
    " weights that are none, guarantees beyond what there is.",
    "Something moved without the ledger, or was said that cannot be: `ledger_api.open_incidents` says where, `incidents` by how much.",
    "fleet",
)
QUARANTINE_WAITING = Metric(
    "ledger_quarantine_waiting",
    "gauge",
    "Messages in quarantine that nobody has released or discarded.",
    "A producer sends what cannot be accepted: `ledger quarantine list` says why.",
)
PARTITIONS_HALTED = Metric(
    "ledger_partitions_halted",
    "gauge",
    "Kafka partitions that stand still until a person has looked.",
    "Anything above 0 wants a person: `ledger partitions list`.",
)
OBSERVED_AGE = Metric(
    "ledger_observed_age_seconds",
    "gauge",
    "How old the gauges above are: they are read from the database every few seconds.",
    "The database cannot be asked, and the gauges above are what they last were.",
)

SNAPSHOT_BEHIND = Metric(
    "ledger_snapshot_behind_events",
    "gauge",
    "Decided events behind the newest snapshot: what a decider that starts has to fold.",
    "Restarts take long: snapshots are off, or fail (ledger_snapshot_failed_total).",
    "fleet",
)

DECIDE_EVENTS = Metric(
    "ledger_decide_events_total",
    "counter",
    "Events folded and decided.",
    "Its rate is the load.",
)
DECIDE_BATCHES = Metric(
    "ledger_decide_batches_total",
    "counter",
    "Transactions that recorded them.",
    "Many with few events each: events arrive one by one, and each pays for a commit.",
)
DECIDE_BUSY = Metric(
    "ledger_decide_busy_seconds_total",
    "counter",
    "Time spent on those batches: reading, deciding, writing.",
    "A rate near 1 is a process that cannot take more: give some fleets to another one.",
)
DECIDE_DECISIONS = Metric(
    "ledger_decide_decisions_total",
    "counter",
    "Decisions recorded, by kind.",
    "Far more than usual of one kind: something changes that many subjects depend on.",
    "kind",
)
DECIDE_MOVED = Metric(
    "ledger_decide_moved_replicas_total",
    "counter",
    "Replicas that changed their place, by the kind of decision that moved them.",
    "A cluster is flapping, or weights were edited: `SELECT * FROM decisions ORDER BY moved DESC`.",
    "kind",
)
DECIDE_REFUSALS = Metric(
    "ledger_decide_refusals_total",
    "counter",
    "Refusals recorded, by reason.",
    "What is wanted cannot be had: `ledger_api.refusals` has the numbers behind each reason.",
    "reason",
)
DECIDE_TICKS = Metric(
    "ledger_decide_ticks_total",
    "counter",
    "Times the passing of time was appended, because a deadline came and no event.",
    "Many deadlines run out in silence: agents may have stopped to send.",
)
DECIDE_HELD = Metric(
    "ledger_decide_leases_held",
    "gauge",
    "Fleets this process decides for.",
    "Over all processes it is the number of fleets; less means that some are undecided.",
)
DECIDE_STANDBY = Metric(
    "ledger_decide_leases_standby",
    "gauge",
    "Fleets this process would take over.",
    "0 in every process: nobody takes over if a decider dies.",
)
DECIDE_STOPPED = Metric(
    "ledger_decide_fleets_stopped",
    "gauge",
    "Fleets this process gave up until a person has looked.",
    "Anything above 0 wants a person: `fleet_stopped` in its log says why.",
)
DECIDE_TAKEN = Metric(
    "ledger_decide_leases_taken_total",
    "counter",
    "Leases taken, at the start and from others.",
    "Growing without a restart: deciders lose their leases to each other.",
)
DECIDE_LOST = Metric(
    "ledger_decide_leases_lost_total",
    "counter",
    "Leases lost to somebody else.",
    "A process stood still for longer than a lease lasts: too little memory or processor.",
)
DECIDE_LOG_LOST = Metric(
    "ledger_decide_log_lost_total",
    "counter",
    "Times Postgres could not be reached or gave up.",
    "The database restarts, is full, or is out of connections.",
)
DECIDE_UNFOLDED = Metric(
    "ledger_decide_unfolded_events",
    "gauge",
    "Decided events that are not in memory yet, of fleets that are being folded.",
    "A decider starts, or a standby cannot follow: `folding` in its log tells the time left.",
)
SNAPSHOT_WRITTEN = Metric(
    "ledger_snapshot_written_total",
    "counter",
    "Snapshots written.",
    "Many: --snapshot-events is small for this load.",
)
SNAPSHOT_FAILED = Metric(
    "ledger_snapshot_failed_total",
    "counter",
    "Snapshots that could not be written.",
    "Restarts become slower: `snapshot_failed` in the log says why. Nothing else is affected.",
)
SNAPSHOT_BYTES = Metric(
    "ledger_snapshot_stored_bytes_total",
    "counter",
    "Bytes of the snapshots written, compressed.",
    "Fleets have grown: each snapshot is as large as what is known of the fleet.",
)
SNAPSHOT_SECONDS = Metric(
    "ledger_snapshot_write_seconds_total",
    "counter",
    "Time that writing them took, beside deciding.",
    "A rate near 1: they are written one after the other without a pause.",
)
SNAPSHOT_PAUSE = Metric(
    "ledger_snapshot_pause_seconds_total",
    "counter",
    "Time for which deciding stood still for them.",
    "More than some hundredths of a second each: the process has grown very large.",
)
SNAPSHOT_READ = Metric(
    "ledger_snapshot_read_total",
    "counter",
    "Snapshots from which a fold began.",
    "Growing without a restart: Postgres goes away, or deciders lose their place.",
)
SNAPSHOT_IGNORED = Metric(
    "ledger_snapshot_ignored_total",
    "counter",
    "Snapshots that were not believed, or are of another release.",
    "`snapshot_ignored` in the log says why. After an upgrade it is usual.",
)

CONSUME_RECORDS = Metric(
    "ledger_consume_records_total",
    "counter",
    "Kafka records that are in the log's hands: appended, duplicates, or quarantined.",
    "Its rate is the load.",
)
CONSUME_BATCHES = Metric(
    "ledger_consume_batches_total",
    "counter",
    "Transactions that took them.",
    "Many with few records each: they arrive one by one, and each pays for a commit.",
)
CONSUME_APPENDED = Metric(
    "ledger_consume_appended_total",
    "counter",
    "Events appended.",
    "Far below records: producers repeat themselves, or send what cannot be accepted.",
)
CONSUME_DUPLICATES = Metric(
    "ledger_consume_duplicates_total",
    "counter",
    "Events the log had already.",
    "Producers send again after a restart; harmless, but it is work.",
)
CONSUME_CONFLICTS = Metric(
    "ledger_consume_conflicts_total",
    "counter",
    "Events with a known identity and other content; they are quarantined.",
    "A producer uses an id twice: that is a bug of its own.",
)
CONSUME_QUARANTINED = Metric(
    "ledger_consume_quarantined_total",
    "counter",
    "Messages set aside.",
    "A producer sends what cannot be accepted: `ledger quarantine list` says why.",
)
CONSUME_REDELIVERED = Metric(
    "ledger_consume_redelivered_total",
    "counter",
    "Records read again although the log had them; nothing happened.",
    "The group rebalances often.",
)
CONSUME_ADOPTED = Metric(
    "ledger_consume_partitions_adopted_total",
    "counter",
    "Partitions taken over, each time anew.",
    "The group rebalances often: consumers die, or are too slow to be heard.",
)
CONSUME_PROVEN = Metric(
    "ledger_consume_partitions_proven_total",
    "counter",
    "Last records read again and found to be the same.",
    "Partitions are quiet, or change hands.",
)
CONSUME_HALTED = Metric(
    "ledger_consume_partitions_halted_total",
    "counter",
    "Partitions stopped until a person has looked.",
    "Anything at all wants a person: `ledger partitions list`.",
)
CONSUME_HELD = Metric(
    "ledger_consume_partitions_held_total",
    "counter",
    "Times a partition had to wait because a fleet's decider was behind.",
    "Back-pressure: see ledger_lag_events.",
)
CONSUME_FENCED = Metric(
    "ledger_consume_fenced_total",
    "counter",
    "Batches refused because somebody newer owns the partition.",
    "Consumers stand still for longer than LEDGER_KAFKA_SESSION_MS.",
)
CONSUME_LOG_LOST = Metric(
    "ledger_consume_log_lost_total",
    "counter",
    "Times Postgres could not be reached or gave up.",
    "The database restarts, is full, or is out of connections.",
)
CONSUME_KAFKA_LOST = Metric(
    "ledger_consume_kafka_lost_total",
    "counter",
    "Times Kafka could not be reached, or its client gave up.",
    "Brokers are away, or refuse us: see the log.",
)
CONSUME_STALLED = Metric(
    "ledger_consume_stalled_total",
    "counter",
    "Times a client was replaced because it made no progress although there was something to read.",
    "A broker answers and gives nothing; look at the brokers.",
)
CONSUME_UNREADABLE = Metric(
    "ledger_consume_unreadable_total",
    "counter",
    "Times the client could not make a record out of what Kafka gave it.",
    "A compression that is not installed, or damage: the partition will halt.",
)
CONSUME_COMMITS = Metric(
    "ledger_consume_broker_commits_total",
    "counter",
    "Offsets told to Kafka, for those who watch the lag there.",
    "Nothing; where it stands still, lag tools show too much.",
)

PUBLISH_DECISIONS = Metric(
    "ledger_publish_decisions_total",
    "counter",
    "Decisions the brokers have acknowledged, repeats after a crash included.",
    "Its rate is the load; far below that of ledger_decide_decisions_total, readers get old news.",
)
PUBLISH_LETTERS = Metric(
    "ledger_publish_letters_total",
    "counter",
    "Quarantined messages handed on to the dead letters.",
    "A producer sends what cannot be accepted.",
)
PUBLISH_BATCHES = Metric(
    "ledger_publish_batches_total",
    "counter",
    "Times the outbox cursor of a fleet moved.",
    "Many with few decisions each: they are made one by one.",
)
PUBLISH_POSTPONED = Metric(
    "ledger_publish_postponed_total",
    "counter",
    "Times a fleet had to rest because what comes next could not be handed on.",
    "A partition has no leader, a topic takes too little, or a newer release is needed: see the log.",
)
PUBLISH_INTERRUPTED = Metric(
    "ledger_publish_interrupted_total",
    "counter",
    "Times Kafka or Postgres could not be reached at all.",
    "One of them restarts, or refuses us: see the log.",
)
PUBLISH_HELD = Metric(
    "ledger_publish_leases_held",
    "gauge",
    "Fleets this process publishes for, the ledger's own among them.",
    "Over all processes it is the number of fleets and one; less means that some are not published.",
)
PUBLISH_LOST = Metric(
    "ledger_publish_leases_lost_total",
    "counter",
    "Leases lost to somebody else.",
    "A process stood still for longer than a lease lasts: too little memory or processor.",
)

SERVE_REQUESTS = Metric(
    "ledger_serve_requests_total",
    "counter",
    "Requests answered, by the class of their status.",
    "5xx above 0: the service's log says why. 4xx: see ledger_serve_problems_total.",
    "status",
)
SERVE_PROBLEMS = Metric(
    "ledger_serve_problems_total",
    "counter",
    "Requests that ended in a problem, by its code.",
    "backlog: the deciders are behind. unauthenticated: somebody tries tokens, or has an old one.",
    "code",
)
SERVE_OPEN = Metric(
    "ledger_serve_requests_open",
    "gauge",
    "Requests under way, streams of decisions among them.",
    "It only grows: the database is slow, or clients do not close their streams.",
)
SERVE_BUSY = Metric(
    "ledger_serve_busy_seconds_total",
    "counter",
    "Time spent on requests from their first byte to their answer; several at a time count each.",
    "Divided by the requests it is the mean time of an answer, streams included.",
)
SERVE_EVENTS = Metric(
    "ledger_serve_events_total",
    "counter",
    "Events taken, by what became of them: appended, duplicate, conflict, quarantined.",
    "quarantined or conflict above 0: `ledger quarantine list` says why.",
    "outcome",
)
SERVE_CERTIFICATES = Metric(
    "ledger_serve_certificates_read_total",
    "counter",
    "Times a certificate that had changed was read.",
    "It does not grow although certificates are renewed: the log says why it could not be read.",
)
SERVE_ADMISSIONS = Metric(
    "ledger_serve_admissions_total",
    "counter",
    "Reviews of pods that are split, by what they were answered with: answered is by a decision.",
    "deadline: the decider is behind or absent. busy: the service has too few connections for what is asked. log_unavailable, list_failed: as they say. patch_inapplicable: a fault of ours, report it.",
    "outcome",
)
SERVE_OWNERS = Metric(
    "ledger_serve_owners_read_total",
    "counter",
    "ReplicaSets and StatefulSets that pods wanted to have read, each pod by itself: read; late, not within 0.3 s; failed; skipped, in the five seconds after either.",
    "late, skipped or failed above 0: what was told counts instead, so a split can be off until it is mended. The API server is slow, not there, or allows no lists: the service's log says why, as owner_not_listed.",
    "outcome",
)
SERVE_ADMISSION = Metric(
    "ledger_serve_admission_seconds",
    "histogram",
    "From the last byte of a review to its answer.",
    "Above 0.025 for one in a hundred: the parts below say where the time goes.",
)
SERVE_ADMISSION_PARTS = Metric(
    "ledger_serve_admission_part_seconds",
    "histogram",
    "Of that, for those that were decided: read the ReplicaSet or StatefulSet, wait in the line, lock of the fleet, append until the commit, decide until the answer was read, reply.",
    "read: the cluster's API server. lock: bulk appends to the same fleet. append: the disk. decide: the decider, or its disk.",
    "part",
)

PART_RUNNING = Metric(
    "ledger_part_running",
    "gauge",
    "Whether a part of `ledger up` answers: 1 if it does, else 0. `maintain` has nothing to say.",
    "1 is well. 0 for longer than a restart takes: see the log.",
    "part",
)
PART_STARTED = Metric(
    "ledger_part_started_total",
    "counter",
    "Times a part of `ledger up` was started.",
    "It ends by itself again and again: see the log.",
    "part",
)

STANDING = (
    *(LAG_EVENTS, LAG_SECONDS, OPEN_REFUSALS, OPEN_INCIDENTS, SNAPSHOT_BEHIND),
    *(QUARANTINE_WAITING, PARTITIONS_HALTED, OBSERVED_AGE),
)
DECIDING = (
    *(DECIDE_EVENTS, DECIDE_BATCHES, DECIDE_BUSY, DECIDE_DECISIONS, DECIDE_MOVED),
    *(DECIDE_REFUSALS, DECIDE_TICKS, DECIDE_HELD, DECIDE_STANDBY, DECIDE_STOPPED),
    *(DECIDE_TAKEN, DECIDE_LOST, DECIDE_LOG_LOST, DECIDE_UNFOLDED),
    *(SNAPSHOT_WRITTEN, SNAPSHOT_FAILED, SNAPSHOT_BYTES, SNAPSHOT_SECONDS, SNAPSHOT_PAUSE),
    *(SNAPSHOT_READ, SNAPSHOT_IGNORED),
)
CONSUMING = (
    *(CONSUME_RECORDS, CONSUME_BATCHES, CONSUME_APPENDED, CONSUME_DUPLICATES),
    *(CONSUME_CONFLICTS, CONSUME_QUARANTINED, CONSUME_REDELIVERED, CONSUME_ADOPTED),
    *(CONSUME_PROVEN, CONSUME_HALTED, CONSUME_HELD, CONSUME_FENCED, CONSUME_LOG_LOST),
    *(CONSUME_KAFKA_LOST, CONSUME_STALLED, CONSUME_UNREADABLE, CONSUME_COMMITS),
)
PUBLISHING = (
    *(PUBLISH_DECISIONS, PUBLISH_LETTERS, PUBLISH_BATCHES, PUBLISH_POSTPONED),
    *(PUBLISH_INTERRUPTED, PUBLISH_HELD, PUBLISH_LOST),
)
SERVING = (
    *(SERVE_REQUESTS, SERVE_PROBLEMS, SERVE_OPEN, SERVE_BUSY, SERVE_EVENTS, SERVE_CERTIFICATES),
    *(SERVE_ADMISSIONS, SERVE_OWNERS, SERVE_ADMISSION, SERVE_ADMISSION_PARTS),
)
PARTS = (PART_RUNNING, PART_STARTED)

GROUPS: Final = (
    ("The fleets", "decide", STANDING),
    ("Deciding", "decide", DECIDING),
    ("Consuming", "consume", CONSUMING),
    ("Publishing", "publish", PUBLISHING),
    ("Serving", "serve", SERVING),
    ("The parts of ledger up", "up", PARTS),
)
"""Heading, the command that serves them, and the metrics, in the order in which they are told."""
