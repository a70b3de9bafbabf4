-- What is refused now, one row a question; derived, kept up by the decider.
CREATE TABLE ledger.open_refusals (
  fleet         integer NOT NULL,
  wanted        text NOT NULL,
  subject       text NOT NULL,
  number        bigint NOT NULL,
  reason        text NOT NULL DEFAULT '',
  waits_for     text NOT NULL DEFAULT '',
  from_position bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (fleet, wanted, subject),
  CONSTRAINT open_refusals_number_key UNIQUE (number, fleet)
)
;;
-- When a refusal ended, and by which decision, if one did: a row once, when it ends.
CREATE TABLE ledger.ended_refusals (
  fleet       integer NOT NULL,
  number      bigint NOT NULL,
  resolved_by bigint,
  position    bigint NOT NULL,
  PRIMARY KEY (fleet, number)
)
;;
CALL ledger.protect('ledger.ended_refusals')
;;
CREATE VIEW ledger_api.refusals WITH (security_barrier = true) AS
SELECT f.name AS fleet,
       d.number,
       d.position,
       d.result ->> 'wanted' AS kind_wanted,
       d.subject,
       d.result ->> 'reason' AS reason,
       d.reasons -> 'detail' AS detail,
       EXISTS (SELECT FROM ledger.open_refusals o WHERE o.fleet = d.fleet AND o.number = d.number) AS open,
       e.resolved_by,
       e.position AS ended_position
  FROM ledger.decisions d
  JOIN ledger.seen_fleets f ON f.number = d.fleet
  LEFT JOIN ledger.ended_refusals e ON e.fleet = d.fleet AND e.number = d.number
 WHERE d.kind = 'refusal'
;;
COMMENT ON VIEW ledger_api.refusals IS
  'Something that could not be served, with the reason; what was in force before stays in force.'
;;
COMMENT ON COLUMN ledger_api.refusals.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.refusals.number IS 'The decision.'
;;
COMMENT ON COLUMN ledger_api.refusals.position IS 'Position of the event that made it due.'
;;
COMMENT ON COLUMN ledger_api.refusals.kind_wanted IS 'The kind of decision that was asked for.'
;;
COMMENT ON COLUMN ledger_api.refusals.subject IS 'Key of what was asked about.'
;;
COMMENT ON COLUMN ledger_api.refusals.reason IS 'Reason code, such as no_candidate_cluster.'
;;
COMMENT ON COLUMN ledger_api.refusals.detail IS
  'The numbers behind the reason; of volumes `expansion_short` and `replica_short` are the bytes that are short.'
;;
COMMENT ON COLUMN ledger_api.refusals.open IS
  'Whether it still stands: neither served, nor refused anew, nor wanted no more.'
;;
COMMENT ON COLUMN ledger_api.refusals.resolved_by IS
  'The decision that ended it: one that served it, or refused it anew; null where it is open, or ended by an event alone.'
;;
COMMENT ON COLUMN ledger_api.refusals.ended_position IS
  'Position of the event with which it ended; null while it is open.'
;;
-- What is short stands in the refusal itself; it is looked up by its number, and only where it is asked for.
CREATE VIEW ledger_api.open_refusals WITH (security_barrier = true) AS
SELECT f.name AS fleet,
       o.number,
       o.from_position AS "position",
       o.wanted AS kind_wanted,
       o.subject,
       o.reason,
       o.waits_for,
       (SELECT d.reasons -> 'detail' FROM ledger.decisions d
         WHERE d.fleet = o.fleet AND d.number = o.number) AS detail
  FROM ledger.open_refusals o
  JOIN ledger.seen_fleets f ON f.number = o.fleet
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
COMMENT ON COLUMN ledger_api.open_refusals.detail IS
  'The numbers behind the reason, as they were at `position`: what was wanted, found or short.'
;;
