-- As before, but a snapshot whose parts were deleted is none to begin a fold from.
CREATE OR REPLACE FUNCTION ledger.detach_partition(p_ordinal bigint) RETURNS text
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
