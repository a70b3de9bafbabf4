-- A World that the log added up to: an unsigned cache that saves time, never a source of truth. A row stays when
-- its parts are deleted: replays of neighbouring segments meet at its digest.
DROP TABLE ledger.snapshots
;;
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
