-- The rows an append waits on. They are locked and never updated: an updated one would leave a dead
-- version for each append, and under one long snapshot every later append would walk past all of them.
CREATE TABLE ledger.append_locks (
  fleet integer NOT NULL REFERENCES ledger.fleets,
  tree  text NOT NULL CHECK (tree IN ('events', 'decisions')),
  PRIMARY KEY (fleet, tree)
)
;;
CALL ledger.protect('ledger.append_locks')
;;
-- Where each tree of a fleet ends: one row an append, the newest is the head.
CREATE TABLE ledger.heads (
  fleet       integer NOT NULL,
  tree        text NOT NULL,
  size        bigint NOT NULL CHECK (size > 0),
  recorded_at_micros bigint,
  root        bytea NOT NULL CHECK (octet_length(root) = 32),
  frontier    bytea NOT NULL CHECK (octet_length(frontier) % 32 = 0),
  PRIMARY KEY (fleet, tree, size),
  FOREIGN KEY (fleet, tree) REFERENCES ledger.append_locks
)
;;
CALL ledger.protect('ledger.heads')
;;
-- Take a fleet's place in line and say where its tree ends; a tree of a life that was stopped does not grow. Several
-- statements inside, on purpose: the last has a snapshot taken after the lock was granted, so it sees what the one
-- before us committed.
CREATE FUNCTION ledger.lock_tree(p_fleet integer, p_tree text)
  RETURNS TABLE (size bigint, frontier bytea, recorded_at_micros bigint, clock_micros bigint, incarnation integer)
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, ledger AS $$
DECLARE stop record;
BEGIN
  PERFORM FROM ledger.append_locks l WHERE l.fleet = p_fleet AND l.tree = p_tree FOR UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'fleet % has no % tree', p_fleet, p_tree USING ERRCODE = 'LG011';
  END IF;
  SELECT f.name, s.component, s.reason, s.detail INTO stop
    FROM ledger.fleet_stops s JOIN ledger.fleets f ON f.number = s.fleet
   WHERE s.fleet = p_fleet
     AND s.incarnation = (SELECT max(n.incarnation) FROM ledger.incarnations n WHERE n.fleet = p_fleet)
   ORDER BY s.stopped_at LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION '%: stopped by the %: %: %', stop.name, stop.component, stop.reason, stop.detail
      USING ERRCODE = 'LG015';
  END IF;
  RETURN QUERY
    SELECT coalesce(h.size, 0), coalesce(h.frontier, ''), h.recorded_at_micros,
           ledger.micros(clock_timestamp()), i.incarnation
      FROM (SELECT max(n.incarnation) AS incarnation FROM ledger.incarnations n WHERE n.fleet = p_fleet) i
      LEFT JOIN LATERAL (SELECT x.size, x.frontier, x.recorded_at_micros FROM ledger.heads x
                          WHERE x.fleet = p_fleet AND x.tree = p_tree
                          ORDER BY x.size DESC LIMIT 1) h ON true;
END
$$
;;
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
-- Signed notes over tree heads, as they were published. One may be recorded once more when witnesses vouched for it
-- later than it was signed.
CREATE TABLE ledger.checkpoints (
  fleet       integer NOT NULL REFERENCES ledger.fleets,
  incarnation integer NOT NULL,
  tree        text NOT NULL CHECK (tree IN ('events', 'decisions', 'both')),
  size        bigint NOT NULL,
  root        bytea NOT NULL,
  note        bytea NOT NULL,
  signed_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  again       smallint NOT NULL DEFAULT 0,
  PRIMARY KEY (fleet, incarnation, tree, size, again)
)
;;
COMMENT ON COLUMN ledger.checkpoints.again IS 'How often this note was recorded before, with fewer signatures of witnesses.'
;;
CALL ledger.protect('ledger.checkpoints')
;;
CREATE VIEW ledger_api.checkpoints WITH (security_barrier = true) AS
SELECT f.name AS fleet,
       c.incarnation,
       c.tree,
       c.size,
       encode(c.root, 'hex') AS root,
       convert_from(c.note, 'UTF8') AS note,
       c.signed_at
  FROM ledger.checkpoints c
  JOIN ledger.seen_fleets f ON f.number = c.fleet
;;
COMMENT ON VIEW ledger_api.checkpoints IS 'What the signer signed of the trees of a fleet, a note a row.'
;;
COMMENT ON COLUMN ledger_api.checkpoints.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.checkpoints.incarnation IS 'Which life of its log.'
;;
COMMENT ON COLUMN ledger_api.checkpoints.tree IS 'events, decisions, or both for the note that binds the two.'
;;
COMMENT ON COLUMN ledger_api.checkpoints.size IS 'How many leaves the tree had.'
;;
COMMENT ON COLUMN ledger_api.checkpoints.root IS 'Its root, in hex (RFC 6962).'
;;
COMMENT ON COLUMN ledger_api.checkpoints.note IS 'The signed note (C2SP), as it is published.'
;;
COMMENT ON COLUMN ledger_api.checkpoints.signed_at IS 'When it was stored.'
;;
