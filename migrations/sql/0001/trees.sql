-- Hashes of complete subtrees of 256^level leaves: what tiles of level 1 and above are made of. Level 0 is
-- the leaves themselves, read from events and decisions.
CREATE TABLE ledger.tile_hashes (
  fleet  integer NOT NULL,
  tree   text NOT NULL,
  level  smallint NOT NULL CHECK (level >= 1),
  number bigint NOT NULL,
  hash   bytea NOT NULL CHECK (octet_length(hash) = 32),
  PRIMARY KEY (fleet, tree, level, number),
  FOREIGN KEY (fleet, tree) REFERENCES ledger.append_locks
)
;;
CALL ledger.protect('ledger.tile_hashes')
;;
-- Signed notes over tree heads, as they were published.
CREATE TABLE ledger.checkpoints (
  fleet       integer NOT NULL REFERENCES ledger.fleets,
  incarnation integer NOT NULL,
  tree        text NOT NULL CHECK (tree IN ('events', 'decisions', 'both')),
  size        bigint NOT NULL,
  root        bytea NOT NULL,
  note        bytea NOT NULL,
  signed_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (fleet, incarnation, tree, size)
)
;;
CALL ledger.protect('ledger.checkpoints')
;;
