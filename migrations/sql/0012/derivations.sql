-- What an object was told to be, at any moment: the events that speak of it.
CREATE INDEX events_by_subject ON ledger.events (fleet, subject, position)
;;
CREATE OR REPLACE VIEW ledger_api.decisions AS
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
       d.record
  FROM ledger.decisions d
  JOIN ledger.fleets f ON f.number = d.fleet
;;
COMMENT ON COLUMN ledger_api.decisions.record IS 'The record whole, as the bytes that the digest is taken over: also the lot, the policy and the digest of what went in.'
