-- A World that the log added up to: an unsigned cache that saves time, never a source of truth. A row stays when
-- its parts are deleted: replays of neighbouring segments meet at its digest.
CREATE TABLE ledger.snapshots (
  number        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  fleet         integer NOT NULL REFERENCES ledger.fleets,
  incarnation   integer NOT NULL,
  through       bigint NOT NULL CHECK (through >= 0),
  decisions     bigint NOT NULL CHECK (decisions >= 0),
  engine        integer NOT NULL,
  layout        integer NOT NULL,
  types         bytea NOT NULL CHECK (octet_length(types) = 32),
  digest        bytea NOT NULL CHECK (octet_length(digest) = 32),
  event_root    bytea NOT NULL CHECK (octet_length(event_root) = 32),
  decision_root bytea NOT NULL CHECK (octet_length(decision_root) = 32),
  bytes         bigint NOT NULL CHECK (bytes > 0),
  stored_bytes  bigint NOT NULL CHECK (stored_bytes > 0),
  written_by    text NOT NULL,
  written_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (fleet, through, incarnation, engine, layout, types)
)
;;
-- The bytes of a snapshot, compressed, in parts that can be read one after the other.
CREATE TABLE ledger.snapshot_parts (
  snapshot bigint NOT NULL REFERENCES ledger.snapshots,
  part     integer NOT NULL CHECK (part >= 0),
  content  bytea NOT NULL,
  PRIMARY KEY (snapshot, part)
)
;;
-- It is compressed already.
ALTER TABLE ledger.snapshot_parts ALTER COLUMN content SET STORAGE EXTERNAL
;;
CREATE VIEW ledger_api.snapshots WITH (security_barrier = true) AS
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
  JOIN ledger.seen_fleets f ON f.number = s.fleet
;;
COMMENT ON VIEW ledger_api.snapshots IS
  'What a fleet''s log added up to at some positions, and from where a decider can begin to fold. A cache: unsigned, and nothing is lost without it.'
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
COMMENT ON COLUMN ledger_api.snapshots.types IS
  'Fingerprint of the types it consists of, in hex: only a program with the same ones reads it.'
;;
COMMENT ON COLUMN ledger_api.snapshots.digest IS
  'SHA-256 of its bytes, in hex: equal for equal states of a fleet, whoever folded.'
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
;;
