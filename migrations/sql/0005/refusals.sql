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
CREATE OR REPLACE VIEW ledger_api.refusals AS
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
  JOIN ledger.fleets f ON f.number = d.fleet
  LEFT JOIN ledger.ended_refusals e ON e.fleet = d.fleet AND e.number = d.number
 WHERE d.kind = 'refusal'
;;
COMMENT ON COLUMN ledger_api.refusals.resolved_by IS 'The decision that ended it: one that served it, or refused it anew; null where it is open, or ended by an event alone.'
;;
COMMENT ON COLUMN ledger_api.refusals.ended_position IS 'Position of the event with which it ended; null while it is open.'
