CREATE OR REPLACE VIEW ledger_api.fleets AS
SELECT f.name AS fleet,
       f.clock,
       f.created_at,
       (SELECT max(i.incarnation) FROM ledger.incarnations i WHERE i.fleet = f.number) AS incarnation,
       coalesce(e.size, 0) AS events,
       ledger.moment(e.recorded_at_micros) AS last_recorded_at,
       encode(e.root, 'hex') AS event_root,
       coalesce(d.size, 0) AS decisions,
       encode(d.root, 'hex') AS decision_root,
       c.through AS decided_through,
       coalesce(e.size, 0) - coalesce(c.through, -1) - 1 AS undecided,
       ledger.moment(w.recorded_at_micros) AS undecided_since,
       CASE WHEN f.clock = 'wall'
            THEN greatest(0, coalesce(extract(epoch FROM clock_timestamp() - ledger.moment(w.recorded_at_micros)), 0))
                 ::double precision
       END AS lag_seconds,
       (SELECT count(*) FROM ledger.open_refusals o WHERE o.fleet = f.number) AS open_refusals
  FROM ledger.fleets f
  LEFT JOIN LATERAL (SELECT h.size, h.root, h.recorded_at_micros FROM ledger.heads h
                      WHERE h.fleet = f.number AND h.tree = 'events'
                      ORDER BY h.size DESC LIMIT 1) e ON true
  LEFT JOIN LATERAL (SELECT h.size, h.root FROM ledger.heads h
                      WHERE h.fleet = f.number AND h.tree = 'decisions'
                      ORDER BY h.size DESC LIMIT 1) d ON true
  LEFT JOIN LATERAL (SELECT max(x.through) AS through FROM ledger.decided x
                      WHERE x.fleet = f.number) c ON true
  LEFT JOIN LATERAL (SELECT x.recorded_at_micros FROM ledger.events x
                      WHERE x.fleet = f.number AND x.position = coalesce(c.through, -1) + 1
                      LIMIT 1) w ON true
;;
COMMENT ON COLUMN ledger_api.fleets.undecided_since IS 'Fleet time of the oldest event that waits to be decided; null where none does.'
;;
COMMENT ON COLUMN ledger_api.fleets.lag_seconds IS 'How long that event has waited, 0 where none does; null on the event clock, which does not say.'
;;
COMMENT ON COLUMN ledger_api.fleets.open_refusals IS 'How many questions are refused now; open_refusals has them.'
;;
CREATE OR REPLACE VIEW ledger_api.refusals AS
SELECT f.name AS fleet,
       d.number,
       d.position,
       d.result ->> 'wanted' AS kind_wanted,
       d.subject,
       d.result ->> 'reason' AS reason,
       d.reasons -> 'detail' AS detail,
       EXISTS (SELECT FROM ledger.open_refusals o WHERE o.fleet = d.fleet AND o.number = d.number) AS open
  FROM ledger.decisions d
  JOIN ledger.fleets f ON f.number = d.fleet
 WHERE d.kind = 'refusal'
;;
COMMENT ON COLUMN ledger_api.refusals.open IS 'Whether it still stands: neither served, nor refused anew, nor wanted no more.'
;;
CREATE VIEW ledger_api.open_refusals AS
SELECT f.name AS fleet,
       o.number,
       d.position,
       o.wanted AS kind_wanted,
       o.subject,
       d.result ->> 'reason' AS reason,
       d.result ->> 'waits_for' AS waits_for
  FROM ledger.open_refusals o
  JOIN ledger.fleets f ON f.number = o.fleet
  JOIN ledger.decisions d ON d.fleet = o.fleet AND d.number = o.number
;;
COMMENT ON VIEW ledger_api.open_refusals IS 'What is wanted now and could not be served so far, a question a row.'
;;
COMMENT ON COLUMN ledger_api.open_refusals.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.open_refusals.number IS 'The decision that refused it.'
;;
COMMENT ON COLUMN ledger_api.open_refusals.position IS 'Position of the event that made it due.'
;;
COMMENT ON COLUMN ledger_api.open_refusals.kind_wanted IS 'The kind of decision that was asked for.'
;;
COMMENT ON COLUMN ledger_api.open_refusals.subject IS 'Key of what was asked about.'
;;
COMMENT ON COLUMN ledger_api.open_refusals.reason IS 'Reason code, such as no_candidate_cluster.'
;;
COMMENT ON COLUMN ledger_api.open_refusals.waits_for IS 'What has to come before it is asked again.'
;;
CREATE VIEW ledger_api.leases AS
SELECT f.name AS fleet,
       l.duty,
       l.holder,
       false AS standby,
       l.taken_at AS since
  FROM ledger.leases l
  JOIN ledger.fleets f ON f.number = l.fleet
 WHERE l.expires_at > clock_timestamp()
UNION ALL
SELECT f.name,
       s.duty,
       s.holder,
       true,
       s.since
  FROM ledger.standbys s
  JOIN ledger.fleets f ON f.number = s.fleet
 WHERE s.expires_at > clock_timestamp()
   AND NOT EXISTS (SELECT FROM ledger.leases l
                    WHERE l.fleet = s.fleet AND l.duty = s.duty AND l.holder = s.holder
                      AND l.expires_at > clock_timestamp())
;;
COMMENT ON VIEW ledger_api.leases IS 'Who decides or publishes for a fleet just now, and which deciders would take over, a process a row.'
;;
COMMENT ON COLUMN ledger_api.leases.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.leases.duty IS 'decide or publish.'
;;
COMMENT ON COLUMN ledger_api.leases.holder IS 'The process: host, number, and a word that no other has.'
;;
COMMENT ON COLUMN ledger_api.leases.standby IS 'False for the one that does it, true for a decider that waits to take over.'
;;
COMMENT ON COLUMN ledger_api.leases.since IS 'Since when it has held the lease, or stood by, without a pause.'
;;
CREATE VIEW ledger_api.partitions AS
SELECT l.topic,
       l.partition,
       r.next AS next_offset,
       coalesce(h.halted, false) AS halted,
       CASE WHEN h.halted THEN h.reason END AS reason,
       CASE WHEN h.halted THEN h.detail END AS detail,
       CASE WHEN h.halted THEN h.at END AS halted_at
  FROM ledger.partition_locks l
  LEFT JOIN LATERAL (SELECT x.next FROM ledger.receipts x
                      WHERE x.topic = l.topic AND x.partition = l.partition
                      ORDER BY x.number DESC LIMIT 1) r ON true
  LEFT JOIN LATERAL (SELECT x.halted, x.reason, x.detail, x.at FROM ledger.partition_halts x
                      WHERE x.topic = l.topic AND x.partition = l.partition
                      ORDER BY x.number DESC LIMIT 1) h ON true
;;
COMMENT ON VIEW ledger_api.partitions IS 'A Kafka partition a row: how far it was taken, and whether it stands still until a person has looked.'
;;
COMMENT ON COLUMN ledger_api.partitions.topic IS 'Kafka topic.'
;;
COMMENT ON COLUMN ledger_api.partitions.partition IS 'Kafka partition.'
;;
COMMENT ON COLUMN ledger_api.partitions.next_offset IS 'The next offset to take; null before the first batch.'
;;
COMMENT ON COLUMN ledger_api.partitions.halted IS 'Whether it stands still.'
;;
COMMENT ON COLUMN ledger_api.partitions.reason IS 'Why it stands still, one of docs/operating-kafka.md.'
;;
COMMENT ON COLUMN ledger_api.partitions.detail IS 'What exactly was found.'
;;
COMMENT ON COLUMN ledger_api.partitions.halted_at IS 'Since when it stands still.'
;;
