-- Who let a message in or gave it up, why and when, beside what became of it.
CREATE OR REPLACE VIEW ledger_api.quarantine WITH (security_barrier = true) AS
SELECT q.position,
       q.address,
       q.fleet,
       q.reason,
       q.detail,
       q.source,
       q.id,
       q.type,
       q.subject,
       q.topic,
       q.partition,
       CASE WHEN q.channel = 'kafka' THEN q.coordinate END AS kafka_offset,
       q.value,
       q.quarantined_at,
       o.outcome,
       o.released_position,
       o.by AS settled_by,
       o.why AS settled_why,
       o.at AS settled_at
  FROM ledger.quarantine q
  LEFT JOIN ledger.quarantine_outcomes o ON o.quarantined = q.position
 WHERE ARRAY[q.fleet, '_ledger', '*'] && ARRAY(SELECT fleet FROM ledger.granted_fleets)
;;
COMMENT ON COLUMN ledger_api.quarantine.settled_by IS
  'Who released or discarded it: a user of the machine, or whoever asked over HTTP.'
;;
COMMENT ON COLUMN ledger_api.quarantine.settled_why IS 'The reason they gave.'
;;
COMMENT ON COLUMN ledger_api.quarantine.settled_at IS 'When they did.'
