-- What could not be accepted, whole: nothing is skipped. Each row is also an event of fleet _ledger, whose
-- position is its key.
CREATE TABLE ledger.quarantine (
  position       bigint PRIMARY KEY,
  address        text NOT NULL,
  channel        text NOT NULL,
  topic          text, -- Of what came otherwise, the name of the file or of the caller.
  partition      integer,
  coordinate     bigint,
  fleet          text,
  source         text,
  id             text,
  type           text,
  subject        text,
  reason         text NOT NULL,
  detail         text NOT NULL,
  key            bytea,
  value          bytea,
  headers        bytea NOT NULL,
  digest         bytea NOT NULL,
  quarantined_at timestamptz NOT NULL DEFAULT clock_timestamp()
)
;;
CREATE INDEX quarantine_by_address ON ledger.quarantine (address, position)
;;
CALL ledger.protect('ledger.quarantine')
;;
-- What became of it, once: released as a new event, or closed without one.
CREATE TABLE ledger.quarantine_outcomes (
  quarantined       bigint PRIMARY KEY REFERENCES ledger.quarantine,
  outcome           text NOT NULL CHECK (outcome IN ('released', 'discarded')),
  released_position bigint,
  by                text NOT NULL,
  why               text NOT NULL,
  at                timestamptz NOT NULL DEFAULT clock_timestamp(),
  CHECK ((outcome = 'released') = (released_position IS NOT NULL))
)
;;
CALL ledger.protect('ledger.quarantine_outcomes')
;;
-- What waits, and what became of the rest: who let a message in or gave it up, why and when.
CREATE VIEW ledger_api.quarantine WITH (security_barrier = true) AS
SELECT q.position,
       q.address,
       q.fleet,
       q.reason,
       q.detail,
       q.source,
       q.id,
       q.type,
       q.subject,
       CASE WHEN q.channel = 'kafka' THEN q.topic END AS topic,
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
COMMENT ON VIEW ledger_api.quarantine IS
  'A message that could not be accepted a row, whole, with its reason and what became of it.'
;;
COMMENT ON COLUMN ledger_api.quarantine.position IS 'Position of its record in the log of fleet _ledger.'
;;
COMMENT ON COLUMN ledger_api.quarantine.address IS
  'Where it came from: topic/partition@offset, file@line, or http/caller@place in the request.'
;;
COMMENT ON COLUMN ledger_api.quarantine.fleet IS 'The fleet it named, where that could be read.'
;;
COMMENT ON COLUMN ledger_api.quarantine.reason IS 'Reason code, one of docs/errors.md.'
;;
COMMENT ON COLUMN ledger_api.quarantine.detail IS 'What exactly was wrong.'
;;
COMMENT ON COLUMN ledger_api.quarantine.source IS 'The producer, where that could be read.'
;;
COMMENT ON COLUMN ledger_api.quarantine.id IS 'The producer''s id, where that could be read.'
;;
COMMENT ON COLUMN ledger_api.quarantine.type IS 'The type, where that could be read.'
;;
COMMENT ON COLUMN ledger_api.quarantine.subject IS 'The subject, where that could be read.'
;;
COMMENT ON COLUMN ledger_api.quarantine.topic IS 'Kafka topic, where it came by Kafka.'
;;
COMMENT ON COLUMN ledger_api.quarantine.partition IS 'Kafka partition, where it came by Kafka.'
;;
COMMENT ON COLUMN ledger_api.quarantine.kafka_offset IS 'Kafka offset, where it came by Kafka.'
;;
COMMENT ON COLUMN ledger_api.quarantine.value IS 'The bytes as they were received.'
;;
COMMENT ON COLUMN ledger_api.quarantine.quarantined_at IS 'When it was set aside.'
;;
COMMENT ON COLUMN ledger_api.quarantine.outcome IS 'released, discarded, or null while it waits.'
;;
COMMENT ON COLUMN ledger_api.quarantine.released_position IS 'Position of the event it was released as.'
;;
COMMENT ON COLUMN ledger_api.quarantine.settled_by IS
  'Who released or discarded it: a user of the machine, or whoever asked over HTTP.'
;;
COMMENT ON COLUMN ledger_api.quarantine.settled_why IS 'The reason they gave.'
;;
COMMENT ON COLUMN ledger_api.quarantine.settled_at IS 'When they did.'
;;
