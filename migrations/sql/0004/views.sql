CREATE VIEW ledger_api.snapshots AS
SELECT f.name AS fleet,
       s.incarnation,
       s.through AS position,
       s.decisions,
       s.engine,
       s.layout,
       encode(s.types, 'hex') AS types,
       encode(s.digest, 'hex') AS digest,
       encode(s.event_root, 'hex') AS event_root,
       encode(s.decision_root, 'hex') AS decision_root,
       s.bytes,
       s.stored_bytes,
       EXISTS (SELECT FROM ledger.snapshot_parts p WHERE p.snapshot = s.number AND p.part = 0) AS kept,
       s.written_by,
       s.written_at
  FROM ledger.snapshots s
  JOIN ledger.fleets f ON f.number = s.fleet
;;
COMMENT ON VIEW ledger_api.snapshots IS 'What a fleet''s log added up to at some positions, and from where a decider can begin to fold. A cache: unsigned, and nothing is lost without it.'
;;
COMMENT ON COLUMN ledger_api.snapshots.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.snapshots.incarnation IS 'Which life of its log.'
;;
COMMENT ON COLUMN ledger_api.snapshots.position IS 'Of the last event that was folded.'
;;
COMMENT ON COLUMN ledger_api.snapshots.decisions IS 'How many decisions there were by then.'
;;
COMMENT ON COLUMN ledger_api.snapshots.engine IS 'Version of the engine that folded.'
;;
COMMENT ON COLUMN ledger_api.snapshots.layout IS 'Version of how it is written.'
;;
COMMENT ON COLUMN ledger_api.snapshots.types IS 'Fingerprint of the types it consists of, in hex: only a program with the same ones reads it.'
;;
COMMENT ON COLUMN ledger_api.snapshots.digest IS 'SHA-256 of its bytes, in hex: equal for equal states of a fleet, whoever folded.'
;;
COMMENT ON COLUMN ledger_api.snapshots.event_root IS 'Root of the event tree up to its position, in hex.'
;;
COMMENT ON COLUMN ledger_api.snapshots.decision_root IS 'Root of the tree of its decisions, in hex.'
;;
COMMENT ON COLUMN ledger_api.snapshots.bytes IS 'How many bytes it is.'
;;
COMMENT ON COLUMN ledger_api.snapshots.stored_bytes IS 'How many bytes it takes, compressed.'
;;
COMMENT ON COLUMN ledger_api.snapshots.kept IS 'Whether its bytes are still there; of old ones only this row is.'
;;
COMMENT ON COLUMN ledger_api.snapshots.written_by IS 'The process that wrote it.'
;;
COMMENT ON COLUMN ledger_api.snapshots.written_at IS 'When it was written.'
