-- What happened, in the one order that counts. The payload is the received bytes; the columns beside it
-- are what the leaf of the tree is made of, so that a reader can recompute the leaf from the row.
CREATE TABLE ledger.events (
  fleet              integer NOT NULL,
  position           bigint NOT NULL CHECK (position >= 0),
  incarnation        integer NOT NULL,
  recorded_at_micros bigint NOT NULL,
  event_time_micros  bigint,
  revision           smallint NOT NULL,
  channel            text NOT NULL CHECK (channel IN ('kafka', 'file', 'http', 'ledger')),
  topic              text,
  partition          integer,
  coordinate         bigint,
  source             text NOT NULL,
  id                 text NOT NULL,
  type               text NOT NULL,
  subject            text NOT NULL,
  payload            bytea NOT NULL,
  leaf               bytea NOT NULL,
  PRIMARY KEY (fleet, position)
) PARTITION BY RANGE (position)
;;
-- What an object was told to be, at any moment: the events that speak of it.
CREATE INDEX events_by_subject ON ledger.events (fleet, subject, position)
;;
CREATE TRIGGER history_rows BEFORE UPDATE OR DELETE ON ledger.events
  FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change()
;;
CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.events
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change()
;;
-- Positions a partition holds: 2^22, a multiple of the 65,536 leaves below one hash of tile level 2.
CREATE FUNCTION ledger.positions_per_partition() RETURNS bigint
  LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT 4194304::bigint'
;;
-- Nothing should ever land here: ledger maintain makes partitions ahead, and a row in this one is an alarm.
CREATE TABLE ledger.events_default PARTITION OF ledger.events DEFAULT
;;
CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.events_default
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change()
;;
-- Whether a partition of its own holds positions from p_ordinal * positions_per_partition on.
CREATE FUNCTION ledger.has_partition(p_ordinal bigint) RETURNS boolean
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, ledger AS $$
  SELECT EXISTS (
    SELECT FROM pg_inherits i
      JOIN pg_class c ON c.oid = i.inhrelid
      CROSS JOIN LATERAL regexp_match(c.relname, '^events_(\d{6})(?:_(\d{6}))?$') AS ordinals
     WHERE i.inhparent = 'ledger.events'::regclass
       AND p_ordinal BETWEEN ordinals[1]::bigint AND coalesce(ordinals[2], ordinals[1])::bigint)
$$
;;
-- Make the partition that holds positions from p_ordinal * positions_per_partition on; true if it was missing.
-- Like all that change partitions, it gives up after a moment rather than let everybody queue behind it:
-- a reader who forgot a transaction would otherwise stop the log. The next round of maintenance tries again.
CREATE FUNCTION ledger.make_partition(p_ordinal bigint) RETURNS boolean
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, ledger SET lock_timeout = '200ms' AS $$
DECLARE
  name  text := 'events_' || to_char(p_ordinal, 'FM000000');
  first bigint := p_ordinal * ledger.positions_per_partition();
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('ledger.make_partition', 0));
  IF ledger.has_partition(p_ordinal) THEN
    RETURN false;
  END IF;
  -- Made apart and then attached: that waits for nobody who reads or writes other partitions.
  EXECUTE format('CREATE TABLE ledger.%I (LIKE ledger.events INCLUDING ALL)', name);
  EXECUTE format('ALTER TABLE ledger.events ATTACH PARTITION ledger.%I FOR VALUES FROM (%s) TO (%s)',
                 name, first, first + ledger.positions_per_partition());
  EXECUTE format('CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.%I
                    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change()', name);
  EXECUTE format('GRANT SELECT, INSERT ON ledger.%I TO ledger_writer, ledger_decider', name);
  RETURN true;
END
$$
;;
-- Where maintenance slipped, rows lie in the default partition, and no partition can be made over them. Turn
-- the default into the partition of their range and open a new one; returns its name, null if there were none.
CREATE FUNCTION ledger.adopt_default() RETURNS text
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, ledger SET lock_timeout = '200ms' AS $$
DECLARE
  size    bigint := ledger.positions_per_partition();
  lowest  bigint;
  highest bigint;
  name    text;
BEGIN
  IF NOT EXISTS (SELECT FROM ledger.events_default) THEN
    RETURN NULL;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('ledger.make_partition', 0));
  LOCK TABLE ledger.events IN ACCESS EXCLUSIVE MODE;
  SELECT min(position) / size, max(position) / size INTO lowest, highest FROM ledger.events_default;
  IF lowest IS NULL THEN
    RETURN NULL;
  END IF;
  name := 'events_' || to_char(lowest, 'FM000000')
          || CASE WHEN highest > lowest THEN '_' || to_char(highest, 'FM000000') ELSE '' END;
  ALTER TABLE ledger.events DETACH PARTITION ledger.events_default;
  EXECUTE format('ALTER TABLE ledger.events_default RENAME TO %I', name);
  EXECUTE format('ALTER TABLE ledger.events ATTACH PARTITION ledger.%I FOR VALUES FROM (%s) TO (%s)',
                 name, lowest * size, (highest + 1) * size);
  CREATE TABLE ledger.events_default PARTITION OF ledger.events DEFAULT;
  CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.events_default
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
  GRANT SELECT, INSERT ON ledger.events_default TO ledger_writer, ledger_decider;
  GRANT SELECT ON ledger.events_default TO ledger_maintainer;
  RETURN name;
END
$$
;;
-- Ranges of positions that were detached and archived, per fleet: attached plus archived = head, always.
CREATE TABLE ledger.archived_ranges (
  fleet       integer NOT NULL REFERENCES ledger.fleets,
  first       bigint NOT NULL,
  next        bigint NOT NULL CHECK (next > first),
  partition   text NOT NULL,
  archived_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (fleet, first)
)
;;
CALL ledger.protect('ledger.archived_ranges')
;;
-- Detach a full partition that every fleet has left behind: appended past it, decided past it, and holding a
-- snapshot from which a fold can begin behind it; one whose parts were deleted is none. The table stays, under its
-- own name, until an administrator has archived and dropped it. A fleet that is still short of the range, however
-- small, would need it later.
CREATE FUNCTION ledger.detach_partition(p_ordinal bigint) RETURNS text
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, ledger SET lock_timeout = '200ms' AS $$
DECLARE
  name   text := 'events_' || to_char(p_ordinal, 'FM000000');
  past   bigint := (p_ordinal + 1) * ledger.positions_per_partition();
  behind text;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('ledger.make_partition', 0));
  IF NOT EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = 'ledger.events'::regclass
                   AND i.inhrelid = to_regclass('ledger.' || name)) THEN
    RAISE EXCEPTION 'events has no partition %', name USING ERRCODE = 'LG012';
  END IF;
  SELECT f.name INTO behind
    FROM ledger.fleets f
    JOIN LATERAL (SELECT h.size FROM ledger.heads h
                   WHERE h.fleet = f.number AND h.tree = 'events' ORDER BY h.size DESC LIMIT 1) head ON true
    LEFT JOIN LATERAL (SELECT d.through FROM ledger.decided d
                        WHERE d.fleet = f.number ORDER BY d.through DESC LIMIT 1) d ON true
    LEFT JOIN LATERAL (SELECT max(s.through) AS through FROM ledger.snapshots s
                         JOIN ledger.snapshot_parts p ON p.snapshot = s.number AND p.part = 0
                        WHERE s.fleet = f.number) s ON true
   WHERE head.size < past
      OR (f.name <> '_ledger' AND least(coalesce(d.through, -1), coalesce(s.through, -1)) < past - 1)
   ORDER BY f.name LIMIT 1;
  IF behind IS NOT NULL THEN
    RAISE EXCEPTION 'fleet % still needs %: it appends or decides there, or has no snapshot behind it',
      behind, name USING ERRCODE = 'LG013';
  END IF;
  EXECUTE format('INSERT INTO ledger.archived_ranges (fleet, first, next, partition)
                  SELECT fleet, min(position), max(position) + 1, %L FROM ledger.%I GROUP BY fleet', name, name);
  EXECUTE format('ALTER TABLE ledger.events DETACH PARTITION ledger.%I', name);
  -- A detached table loses the triggers it inherited; it is still history.
  EXECUTE format('CREATE TRIGGER history_rows BEFORE UPDATE OR DELETE ON ledger.%I
                    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change()', name);
  RETURN name;
END
$$
;;
-- Who is who: an event is known by (source, id). Kept apart from the events because a range-partitioned
-- table cannot hold a key without its position, and because identity outlives a detached partition.
CREATE TABLE ledger.event_identity (
  fleet    integer NOT NULL,
  identity bytea NOT NULL,
  digest   bytea NOT NULL,
  position bigint NOT NULL,
  PRIMARY KEY (fleet, identity)
) PARTITION BY HASH (identity)
;;
CREATE TRIGGER history_rows BEFORE UPDATE OR DELETE ON ledger.event_identity
  FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change()
;;
CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.event_identity
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change()
;;
DO $$
BEGIN
  FOR part IN 0..7 LOOP
    EXECUTE format('CREATE TABLE ledger.event_identity_%s PARTITION OF ledger.event_identity
                      FOR VALUES WITH (MODULUS 8, REMAINDER %s)', part, part);
    EXECUTE format('CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.event_identity_%s
                      FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change()', part);
  END LOOP;
END
$$
;;
-- The first partitions are there before the first event; ledger maintain makes those that follow.
SELECT ledger.make_partition(ordinal) FROM generate_series(0, 1) AS ordinal
;;
