-- What folding made of an event, where that was not simply "applied".
CREATE TABLE ledger.event_effects (
  fleet    integer NOT NULL,
  position bigint NOT NULL,
  effect   text NOT NULL CHECK (effect IN ('stale', 'no_effect')),
  PRIMARY KEY (fleet, position)
)
;;
CALL ledger.protect('ledger.event_effects')
;;
-- The first answer to an admission is the answer, whoever asks again.
CREATE TABLE ledger.admission_answers (
  fleet       integer NOT NULL REFERENCES ledger.fleets,
  uid         text NOT NULL,
  position    bigint NOT NULL,
  bypassed    boolean NOT NULL,
  answer      bytea NOT NULL,
  answered_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (fleet, uid)
)
;;
CALL ledger.protect('ledger.admission_answers')
;;
-- Events as people see them, each with what it did, which is known once it was decided.
CREATE VIEW ledger_api.events WITH (security_barrier = true) AS
SELECT f.name AS fleet,
       e.position,
       e.id,
       e.source,
       e.type,
       e.subject,
       ledger.moment(e.event_time_micros) AS event_time,
       ledger.moment(e.recorded_at_micros) AS recorded_at,
       e.channel,
       e.topic,
       e.partition,
       CASE WHEN e.channel = 'kafka' THEN e.coordinate END AS kafka_offset,
       CASE WHEN e.position <= f.through
            THEN coalesce((SELECT x.effect FROM ledger.event_effects x
                            WHERE x.fleet = e.fleet AND x.position = e.position), 'applied')
       END AS effect,
       e.payload,
       encode(e.leaf, 'hex') AS leaf
  FROM ledger.events e
  JOIN (SELECT n.number, n.name,
               (SELECT max(d.through) FROM ledger.decided d WHERE d.fleet = n.number) AS through
          FROM ledger.seen_fleets n) f ON f.number = e.fleet
;;
COMMENT ON VIEW ledger_api.events IS 'An event a row, in the one order that counts.'
;;
COMMENT ON COLUMN ledger_api.events.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.events.position IS 'Place in the fleet''s log, from 0, without gaps.'
;;
COMMENT ON COLUMN ledger_api.events.id IS 'The producer''s id; unique with source.'
;;
COMMENT ON COLUMN ledger_api.events.source IS 'Who said so; unique with id.'
;;
COMMENT ON COLUMN ledger_api.events.type IS 'Type and version, such as ledger.cluster.node.upserted.v1.'
;;
COMMENT ON COLUMN ledger_api.events.subject IS 'Key of the object the event speaks of.'
;;
COMMENT ON COLUMN ledger_api.events.event_time IS 'The time the producer wrote; informational, it decides nothing.'
;;
COMMENT ON COLUMN ledger_api.events.recorded_at IS
  'Fleet time: when the log took the event; never runs backwards with position.'
;;
COMMENT ON COLUMN ledger_api.events.channel IS 'The way in: kafka, file, http or ledger.'
;;
COMMENT ON COLUMN ledger_api.events.topic IS 'Kafka topic, where it came by Kafka.'
;;
COMMENT ON COLUMN ledger_api.events.partition IS 'Kafka partition, where it came by Kafka.'
;;
COMMENT ON COLUMN ledger_api.events.kafka_offset IS 'Kafka offset, where it came by Kafka.'
;;
COMMENT ON COLUMN ledger_api.events.effect IS
  'What folding made of it: applied, stale or no_effect; null until it is decided.'
;;
COMMENT ON COLUMN ledger_api.events.payload IS 'The stored bytes.'
;;
COMMENT ON COLUMN ledger_api.events.leaf IS 'Leaf hash in the event tree, in hex.'
;;
