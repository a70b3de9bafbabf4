CREATE VIEW ledger_api.stops WITH (security_barrier = true) AS
SELECT f.name AS fleet,
       s.incarnation,
       s.component,
       s.reason,
       s.detail,
       s.stopped_at,
       s.incarnation = (SELECT max(i.incarnation) FROM ledger.incarnations i WHERE i.fleet = f.number) AS stands
  FROM ledger.fleet_stops s
  JOIN ledger.seen_fleets f ON f.number = s.fleet
;;
COMMENT ON VIEW ledger_api.stops IS
  'Fleets that were stopped because somebody remembered more of their log than was there: a row for each who did.'
;;
COMMENT ON COLUMN ledger_api.stops.fleet IS 'The fleet.'
;;
COMMENT ON COLUMN ledger_api.stops.incarnation IS 'Which life of its log was stopped.'
;;
COMMENT ON COLUMN ledger_api.stops.component IS 'Who noticed: signer, consumer, publisher or decider.'
;;
COMMENT ON COLUMN ledger_api.stops.reason IS 'Why: log_rewound, log_forked or log_rewritten.'
;;
COMMENT ON COLUMN ledger_api.stops.detail IS 'What was remembered, and what is there.'
;;
COMMENT ON COLUMN ledger_api.stops.stopped_at IS 'When it was noticed first.'
;;
COMMENT ON COLUMN ledger_api.stops.stands IS
  'Whether the fleet still stands; false once ledger recover began its next life.'
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
