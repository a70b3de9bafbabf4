-- Time inside the log is whole microseconds since 1970; people see timestamptz. Both ways are exact.
CREATE FUNCTION ledger.micros(moment timestamptz) RETURNS bigint
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN (extract(epoch FROM moment) * 1000000)::bigint
;;
CREATE FUNCTION ledger.moment(micros bigint) RETURNS timestamptz
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN timestamptz '1970-01-01 00:00:00+00'
    + (micros / 1000000) * interval '1 second' + (micros % 1000000) * interval '1 microsecond'
;;
-- A fleet is what one log decides for: the unit of order, tenancy and audit.
CREATE SEQUENCE ledger.fleet_numbers AS integer
;;
CREATE TABLE ledger.fleets (
  number     integer PRIMARY KEY,
  name       text NOT NULL UNIQUE,
  clock      text NOT NULL CHECK (clock IN ('wall', 'event')),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
)
;;
CALL ledger.protect('ledger.fleets')
;;
-- What a fleet began with, written at its first append: later defaults never reach it.
CREATE TABLE ledger.geneses (
  fleet    integer PRIMARY KEY REFERENCES ledger.fleets,
  document bytea NOT NULL,
  digest   bytea NOT NULL CHECK (octet_length(digest) = 32)
)
;;
CALL ledger.protect('ledger.geneses')
;;
-- Which life of its log a fleet is in; a second one is opened only after a restore to an earlier point.
CREATE TABLE ledger.incarnations (
  fleet       integer NOT NULL REFERENCES ledger.fleets,
  incarnation integer NOT NULL CHECK (incarnation >= 1),
  from_size   bigint NOT NULL CHECK (from_size >= 0),
  reason      text NOT NULL,
  opened_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (fleet, incarnation)
)
;;
CALL ledger.protect('ledger.incarnations')
;;
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
-- Take a fleet's place in line and say where its tree ends. Two statements inside, on purpose: the
-- second has a snapshot taken after the lock was granted, so it sees what the one before us committed.
CREATE FUNCTION ledger.lock_tree(p_fleet integer, p_tree text)
  RETURNS TABLE (size bigint, frontier bytea, recorded_at_micros bigint, clock_micros bigint, incarnation integer)
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, ledger AS $$
BEGIN
  PERFORM FROM ledger.append_locks l WHERE l.fleet = p_fleet AND l.tree = p_tree FOR UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'fleet % has no % tree', p_fleet, p_tree USING ERRCODE = 'LG011';
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
-- Sources that may speak for one fleet only; a source without a row may speak for any.
CREATE TABLE ledger.source_bindings (
  source   text NOT NULL,
  fleet    text NOT NULL,
  bound_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (source, fleet)
)
;;
