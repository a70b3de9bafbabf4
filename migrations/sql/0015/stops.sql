-- That a life of a fleet's log is over, because somebody remembers more of it than is there, or something else.
CREATE TABLE ledger.fleet_stops (
  fleet       integer NOT NULL REFERENCES ledger.fleets,
  incarnation integer NOT NULL,
  component   text NOT NULL CHECK (component IN ('signer', 'consumer', 'publisher', 'decider')),
  reason      text NOT NULL,
  detail      text NOT NULL,
  stopped_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (fleet, incarnation, component)
)
;;
CALL ledger.protect('ledger.fleet_stops')
;;
-- As before, and a tree of a life that was stopped does not grow.
CREATE OR REPLACE FUNCTION ledger.lock_tree(p_fleet integer, p_tree text)
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
-- What the event says with which a later life begins, so that nobody has to have its partition, and up to which
-- receipt each partition was taken that feeds the fleet: {"topic": {"partition": 0, "receipt": 17}}.
ALTER TABLE ledger.incarnations ADD COLUMN said bytea, ADD COLUMN revision smallint, ADD COLUMN taken jsonb
;;
ALTER TABLE ledger.partition_halts ADD COLUMN receipt bigint NOT NULL DEFAULT -1
;;
-- The number of the newest receipt of a partition; -1 where nothing was ever taken.
CREATE FUNCTION ledger.newest_receipt(p_topic text, p_partition integer) RETURNS bigint
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, ledger AS $$
  SELECT coalesce((SELECT r.number FROM ledger.receipts r
                    WHERE r.topic = p_topic AND r.partition = p_partition
                    ORDER BY r.number DESC LIMIT 1), -1)
$$
;;
-- By which partition of each topic a fleet's events come: the newest word counts.
CREATE FUNCTION ledger.pinned(p_fleet text) RETURNS TABLE (topic text, "partition" integer)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, ledger AS $$
  SELECT DISTINCT ON (p.topic) p.topic, p.partition FROM ledger.partition_pins p
   WHERE p.fleet = p_fleet ORDER BY p.topic, p.number DESC
$$
;;
-- Begin the next life of a fleet's log where both trees end, if that is still where its caller saw them end. The
-- caller appends the event that says so in the same transaction.
CREATE FUNCTION ledger.open_incarnation(
    p_fleet integer, p_incarnation integer, p_events bigint, p_decisions bigint, p_reason text,
    p_said bytea, p_revision smallint)
  RETURNS void
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, ledger AS $$
DECLARE
  newest integer;
  found  record;
BEGIN
  PERFORM FROM ledger.append_locks l WHERE l.fleet = p_fleet AND l.tree = 'events' FOR UPDATE;
  PERFORM FROM ledger.append_locks l WHERE l.fleet = p_fleet AND l.tree = 'decisions' FOR UPDATE;
  SELECT max(n.incarnation) INTO newest FROM ledger.incarnations n WHERE n.fleet = p_fleet;
  SELECT coalesce(max(h.size) FILTER (WHERE h.tree = 'events'), 0) AS events,
         coalesce(max(h.size) FILTER (WHERE h.tree = 'decisions'), 0) AS decisions INTO found
    FROM ledger.heads h WHERE h.fleet = p_fleet;
  IF newest >= p_incarnation OR (found.events, found.decisions) <> (p_events, p_decisions) THEN
    RAISE EXCEPTION 'fleet % is in life % with % events and % decisions: it went on meanwhile',
      p_fleet, newest, found.events, found.decisions USING ERRCODE = 'LG002';
  END IF;
  INSERT INTO ledger.incarnations (fleet, incarnation, from_size, reason, said, revision, taken)
    SELECT p_fleet, p_incarnation, p_events, p_reason, p_said, p_revision,
           coalesce((SELECT jsonb_object_agg(p.topic, jsonb_build_object(
                              'partition', p.partition, 'receipt', ledger.newest_receipt(p.topic, p.partition)))
                       FROM ledger.pinned(f.name) p), '{}')
      FROM ledger.fleets f WHERE f.number = p_fleet;
END
$$
;;
-- Whether a fleet was recovered since anything was taken from a partition that feeds it. By numbers of receipts and
-- not by clocks: a database that was restored may have another host's.
CREATE FUNCTION ledger.is_recovered_behind(p_fleet text, p_topic text, p_partition integer) RETURNS boolean
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, ledger AS $$
  SELECT coalesce((SELECT (i.taken -> p_topic ->> 'partition')::integer = p_partition
                          AND (i.taken -> p_topic ->> 'receipt')::bigint
                              >= ledger.newest_receipt(p_topic, p_partition)
                     FROM ledger.incarnations i JOIN ledger.fleets f ON f.number = i.fleet
                    WHERE f.name = p_fleet ORDER BY i.incarnation DESC LIMIT 1), false)
$$
;;
-- Whether what Kafka was told of a partition may be more than what was taken: once, after every fleet that comes by
-- it was recovered, or a person let it go on; from the next receipt on it may not.
CREATE FUNCTION ledger.is_recovered(p_topic text, p_partition integer) RETURNS boolean
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, ledger AS $$
  WITH pinned AS (
    SELECT DISTINCT ON (p.fleet) p.fleet, p.partition FROM ledger.partition_pins p
     WHERE p.topic = p_topic ORDER BY p.fleet, p.number DESC
  )
  SELECT coalesce((SELECT h.receipt >= ledger.newest_receipt(p_topic, p_partition)
                          AND NOT h.halted AND h.reason = 'log_rewound'
                     FROM ledger.partition_halts h
                    WHERE h.topic = p_topic AND h.partition = p_partition
                    ORDER BY h.number DESC LIMIT 1), false)
      OR coalesce((SELECT bool_and(ledger.is_recovered_behind(p.fleet, p_topic, p_partition))
                     FROM pinned p WHERE p.partition = p_partition), false)
$$
;;
