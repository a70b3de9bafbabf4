-- What was decided. The record is the canonical bytes under the digest; every other column is read from it.
CREATE TABLE ledger.decisions (
  fleet           integer NOT NULL,
  number          bigint NOT NULL CHECK (number >= 0),
  incarnation     integer NOT NULL,
  position        bigint NOT NULL,
  kind            text NOT NULL,
  subject         text NOT NULL,
  algorithm       text NOT NULL,
  version         integer NOT NULL,
  branch          text NOT NULL,
  moved           bigint NOT NULL,
  previous_number bigint,
  result          jsonb NOT NULL,
  reasons         jsonb NOT NULL,
  record          bytea NOT NULL,
  digest          bytea NOT NULL CHECK (octet_length(digest) = 32),
  PRIMARY KEY (fleet, number)
)
;;
CREATE INDEX decisions_by_position ON ledger.decisions (fleet, position)
;;
CREATE INDEX decisions_by_subject ON ledger.decisions (fleet, subject, number)
;;
CREATE INDEX decisions_of_capacity_classes ON ledger.decisions (fleet, number)
 WHERE kind = 'capacity_class'
;;
CREATE INDEX decisions_of_incidents ON ledger.decisions (fleet, number) WHERE kind = 'incident'
;;
CREATE INDEX decisions_of_refusals ON ledger.decisions (fleet, number) WHERE kind = 'refusal'
;;
CREATE INDEX decisions_of_proposals ON ledger.decisions (fleet, number) WHERE kind = 'proposal'
;;
CALL ledger.protect('ledger.decisions')
;;
-- How far a fleet is decided: one row a transaction of its decider, the newest is the cursor. Beside it from when on
-- the passing of time alone decides something; null where it never does.
CREATE TABLE ledger.decided (
  fleet         integer NOT NULL REFERENCES ledger.fleets,
  through       bigint NOT NULL,
  decisions     bigint NOT NULL,
  epoch         bigint NOT NULL,
  decided_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  due_at_micros bigint,
  PRIMARY KEY (fleet, through)
)
;;
CALL ledger.protect('ledger.decided')
;;
-- How far a fleet's decisions were handed to Kafka: one row a batch, the newest is the cursor.
CREATE TABLE ledger.published (
  fleet        integer NOT NULL REFERENCES ledger.fleets,
  next         bigint NOT NULL,
  epoch        bigint NOT NULL,
  published_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (fleet, next)
)
;;
CALL ledger.protect('ledger.published')
;;
CREATE VIEW ledger_api.decisions WITH (security_barrier = true) AS
SELECT f.name AS fleet,
       d.number,
       d.position,
       d.kind,
       d.subject,
       d.algorithm,
       d.version,
       d.branch,
       d.moved,
       d.previous_number,
       d.result,
       d.reasons,
       encode(d.digest, 'hex') AS digest,
       f.name || '/' || d.incarnation || '/' || d.number AS decision,
       d.record,
       (SELECT ledger.moment(e.recorded_at_micros) FROM ledger.events e
         WHERE e.fleet = d.fleet AND e.position = d.position) AS recorded_at,
       (SELECT e.type FROM ledger.events e WHERE e.fleet = d.fleet AND e.position = d.position) AS event_type,
       (SELECT e.subject FROM ledger.events e WHERE e.fleet = d.fleet AND e.position = d.position) AS event_subject
  FROM ledger.decisions d
  JOIN ledger.seen_fleets f ON f.number = d.fleet
;;
COMMENT ON VIEW ledger_api.decisions IS
  'A decision a row: what was decided, from which event, by which rule, and why.'
;;
COMMENT ON COLUMN ledger_api.decisions.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.decisions.number IS 'Place among the fleet''s decisions, from 0, without gaps.'
;;
COMMENT ON COLUMN ledger_api.decisions.position IS 'Position of the event that made it due.'
;;
COMMENT ON COLUMN ledger_api.decisions.kind IS
  'division, deployment, capacity_class, allocation, eviction, disk_placement, repair, proposal, incident or refusal.'
;;
COMMENT ON COLUMN ledger_api.decisions.subject IS 'Key of what was decided about.'
;;
COMMENT ON COLUMN ledger_api.decisions.algorithm IS 'The system that answered.'
;;
COMMENT ON COLUMN ledger_api.decisions.version IS 'Its version.'
;;
COMMENT ON COLUMN ledger_api.decisions.branch IS
  'Which rule of the system applied, such as keep, exact, redraw or placed.'
;;
COMMENT ON COLUMN ledger_api.decisions.moved IS 'How much changed its place against the previous decision.'
;;
COMMENT ON COLUMN ledger_api.decisions.previous_number IS 'The previous decision about the same subject.'
;;
COMMENT ON COLUMN ledger_api.decisions.result IS 'The answer.'
;;
COMMENT ON COLUMN ledger_api.decisions.reasons IS 'The numbers that let a reader redo it.'
;;
COMMENT ON COLUMN ledger_api.decisions.digest IS 'Leaf hash in the decision tree, in hex.'
;;
COMMENT ON COLUMN ledger_api.decisions.decision IS 'Its name outside this database: fleet/incarnation/number.'
;;
COMMENT ON COLUMN ledger_api.decisions.record IS
  'The record whole, as the bytes that the digest is taken over: also the lot, the policy and the digest of what went in.'
;;
COMMENT ON COLUMN ledger_api.decisions.recorded_at IS
  'Fleet time of the event that made it due; null where that was archived.'
;;
COMMENT ON COLUMN ledger_api.decisions.event_type IS 'Type of that event.'
;;
COMMENT ON COLUMN ledger_api.decisions.event_subject IS 'Key of the object that the event speaks of.'
;;
-- What a decision stands on, without JSON: each number with its name.
CREATE VIEW ledger_api.steps WITH (security_barrier = true) AS
SELECT f.name AS fleet,
       d.number,
       d.position,
       d.kind,
       d.subject,
       told.step,
       told.name,
       told.value
  FROM ledger.decisions d
  JOIN ledger.seen_fleets f ON f.number = d.fleet
 CROSS JOIN LATERAL (
   WITH RECURSIVE walk (places, names, value) AS (
     SELECT '{}'::bigint[], '{}'::text[], d.reasons
     UNION ALL
     SELECT w.places || one.place, w.names || one.name, one.value
       FROM walk w
      CROSS JOIN LATERAL (
        SELECT o.place, o.name, o.value
          FROM jsonb_each(CASE WHEN jsonb_typeof(w.value) = 'object' THEN w.value END)
               WITH ORDINALITY AS o (name, value, place)
        UNION ALL
        SELECT a.place, a.place::text, a.value
          FROM jsonb_array_elements(CASE WHEN jsonb_typeof(w.value) = 'array' THEN w.value END)
               WITH ORDINALITY AS a (value, place)
      ) one
   )
   SELECT row_number() OVER (ORDER BY w.places) AS step,
          array_to_string(w.names, '.') AS name,
          w.value #>> '{}' AS value
     FROM walk w
    WHERE jsonb_typeof(w.value) NOT IN ('object', 'array')
 ) told
;;
COMMENT ON VIEW ledger_api.steps IS
  'A number or a word that a decision stands on a row, in order: what reasons says, without JSON.'
;;
COMMENT ON COLUMN ledger_api.steps.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.steps.number IS 'The decision.'
;;
COMMENT ON COLUMN ledger_api.steps.position IS 'Position of the event that made it due.'
;;
COMMENT ON COLUMN ledger_api.steps.kind IS 'Kind of the decision.'
;;
COMMENT ON COLUMN ledger_api.steps.subject IS 'Key of what was decided about.'
;;
COMMENT ON COLUMN ledger_api.steps.step IS 'Its place among those of the decision, from 1.'
;;
COMMENT ON COLUMN ledger_api.steps.name IS
  'What it is, from the whole to the part, such as losers.counts.unready; what stands in a list has its place, from 1.'
;;
COMMENT ON COLUMN ledger_api.steps.value IS 'The number or the word; null where there is none.'
;;
