-- The schema as migrations make it, on one page. Generated: LEDGER_REWRITE=1 pytest tests/migrations
CREATE SCHEMA ledger;

ALTER SCHEMA ledger OWNER TO ledger_owner;

CREATE SCHEMA ledger_api;

ALTER SCHEMA ledger_api OWNER TO ledger_owner;

CREATE FUNCTION ledger.adopt_default() RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'ledger'
    SET lock_timeout TO '200ms'
    AS $$
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
$$;

ALTER FUNCTION ledger.adopt_default() OWNER TO ledger_owner;

CREATE FUNCTION ledger.check_receipt() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'ledger'
    AS $$
DECLARE before record;
BEGIN
  SELECT c.number, c.next INTO before FROM ledger.claim_partition(NEW.topic, NEW.partition, NEW.epoch) c;
  IF NEW.number <> before.number + 1 THEN
    RAISE EXCEPTION '%/%: receipt % does not follow %', NEW.topic, NEW.partition, NEW.number, before.number
      USING ERRCODE = 'LG002';
  END IF;
  IF NEW.resumed_by IS NULL AND NEW.first < before.next THEN
    RAISE EXCEPTION '%/%: offsets from % were taken already, up to %',
      NEW.topic, NEW.partition, NEW.first, before.next USING ERRCODE = 'LG002';
  END IF;
  RETURN NEW;
END
$$;

ALTER FUNCTION ledger.check_receipt() OWNER TO ledger_owner;

CREATE FUNCTION ledger.claim_partition(p_topic text, p_partition integer, p_epoch bigint) RETURNS TABLE(number bigint, next bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'ledger'
    AS $$
DECLARE newest bigint;
BEGIN
  PERFORM FROM ledger.partition_locks l WHERE l.topic = p_topic AND l.partition = p_partition FOR UPDATE;
  SELECT max(e.epoch) INTO newest FROM ledger.partition_epochs e
   WHERE e.topic = p_topic AND e.partition = p_partition;
  IF newest IS DISTINCT FROM p_epoch THEN
    RAISE EXCEPTION '%/%: epoch % was replaced by %', p_topic, p_partition, p_epoch, newest
      USING ERRCODE = 'LG001';
  END IF;
  RETURN QUERY SELECT r.number, r.next FROM ledger.receipts r
    WHERE r.topic = p_topic AND r.partition = p_partition ORDER BY r.number DESC LIMIT 1;
  IF NOT FOUND THEN
    RETURN QUERY SELECT -1::bigint, -1::bigint;
  END IF;
END
$$;

ALTER FUNCTION ledger.claim_partition(p_topic text, p_partition integer, p_epoch bigint) OWNER TO ledger_owner;

CREATE FUNCTION ledger.refuse_fleet(fleet text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
  RAISE EXCEPTION 'fleet %: there is none of this name that you may see', fleet USING ERRCODE = 'LG017';
END
$$;

ALTER FUNCTION ledger.refuse_fleet(fleet text) OWNER TO ledger_owner;

CREATE FUNCTION ledger.refuse_undecided(fleet text, "position" bigint, through bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
  IF fleet = '_ledger' THEN
    RAISE EXCEPTION 'fleet %: it has no event at position % yet', fleet, "position" USING ERRCODE = 'LG016';
  END IF;
  RAISE EXCEPTION 'fleet %: position % is not decided; %', fleet, "position",
    CASE WHEN through < 0 THEN 'nothing is yet' ELSE 'the newest that is, is ' || through END
    USING ERRCODE = 'LG016';
END
$$;

ALTER FUNCTION ledger.refuse_undecided(fleet text, "position" bigint, through bigint) OWNER TO ledger_owner;

CREATE TABLE ledger.decided (
    fleet integer NOT NULL,
    through bigint NOT NULL,
    decisions bigint NOT NULL,
    epoch bigint NOT NULL,
    decided_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    due_at_micros bigint
);

ALTER TABLE ledger.decided OWNER TO ledger_owner;

CREATE TABLE ledger.fleet_readers (
    reader text NOT NULL,
    fleet text NOT NULL,
    granted_by text DEFAULT SESSION_USER NOT NULL,
    granted_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE ledger.fleet_readers OWNER TO ledger_owner;

CREATE TABLE ledger.fleets (
    number integer NOT NULL,
    name text NOT NULL,
    clock text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT fleets_clock_check CHECK ((clock = ANY (ARRAY['wall'::text, 'event'::text])))
);

ALTER TABLE ledger.fleets OWNER TO ledger_owner;

CREATE VIEW ledger.granted_fleets AS
 SELECT g.fleet
   FROM (ledger.fleet_readers g
     JOIN pg_roles r ON ((r.rolname = g.reader)))
  WHERE (pg_has_role(r.oid, 'USAGE'::text) OR ((CURRENT_USER = 'ledger_reader'::name) AND pg_has_role(SESSION_USER, r.oid, 'MEMBER'::text)));

ALTER VIEW ledger.granted_fleets OWNER TO ledger_owner;

CREATE TABLE ledger.heads (
    fleet integer NOT NULL,
    tree text NOT NULL,
    size bigint NOT NULL,
    recorded_at_micros bigint,
    root bytea NOT NULL,
    frontier bytea NOT NULL,
    CONSTRAINT heads_frontier_check CHECK (((octet_length(frontier) % 32) = 0)),
    CONSTRAINT heads_root_check CHECK ((octet_length(root) = 32)),
    CONSTRAINT heads_size_check CHECK ((size > 0))
);

ALTER TABLE ledger.heads OWNER TO ledger_owner;

CREATE VIEW ledger.seen_fleets AS
 SELECT number,
    name,
    clock,
    created_at
   FROM ledger.fleets f
  WHERE (ARRAY[name, '*'::text] && ARRAY( SELECT granted_fleets.fleet
           FROM ledger.granted_fleets));

ALTER VIEW ledger.seen_fleets OWNER TO ledger_owner;

CREATE VIEW ledger.decided_over_time WITH (security_barrier='true') AS
 SELECT name AS fleet,
        CASE
            WHEN (name = '_ledger'::text) THEN (COALESCE(( SELECT max(h.size) AS max
               FROM ledger.heads h
              WHERE ((h.fleet = f.number) AND (h.tree = 'events'::text))), (0)::bigint) - 1)
            ELSE COALESCE(( SELECT max(d.through) AS max
               FROM ledger.decided d
              WHERE (d.fleet = f.number)), ('-1'::integer)::bigint)
        END AS through
   FROM ledger.seen_fleets f;

ALTER VIEW ledger.decided_over_time OWNER TO ledger_owner;

CREATE FUNCTION ledger.is_decided(fleet text, "position" bigint) RETURNS boolean
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT COALESCE(( SELECT
                 CASE
                     WHEN (is_decided."position" > d.through) THEN ledger.refuse_undecided(d.fleet, is_decided."position", d.through)
                     ELSE true
                 END AS "case"
            FROM ledger.decided_over_time d
           WHERE (d.fleet = is_decided.fleet)), ledger.refuse_fleet(fleet)) AS "coalesce";
END;

ALTER FUNCTION ledger.is_decided(fleet text, "position" bigint) OWNER TO ledger_owner;

CREATE FUNCTION ledger.last_by(fleet text, moment timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql STABLE STRICT
    AS $$
DECLARE
  lowest  bigint := -1;
  highest bigint;
  middle  bigint;
  there   timestamptz;
BEGIN
  SELECT v.events - 1 INTO highest FROM ledger_api.fleets v WHERE v.fleet = last_by.fleet;
  -- Fleet time never runs backwards with position. What was archived is older than what is here.
  WHILE lowest < highest LOOP
    middle := (lowest + highest + 1) / 2;
    SELECT e.recorded_at INTO there FROM ledger_api.events e
     WHERE e.fleet = last_by.fleet AND e.position = middle;
    IF there > moment THEN
      highest := middle - 1;
    ELSE
      lowest := middle;
    END IF;
  END LOOP;
  RETURN nullif(highest, -1);
END
$$;

ALTER FUNCTION ledger.last_by(fleet text, moment timestamp with time zone) OWNER TO ledger_owner;

CREATE FUNCTION ledger_api.position_at(fleet text, moment timestamp with time zone) RETURNS bigint
    LANGUAGE sql STABLE STRICT
    BEGIN ATOMIC
 SELECT
         CASE
             WHEN ledger.is_decided(fleet, NULL::bigint) THEN ledger.last_by(fleet, moment)
             ELSE NULL::bigint
         END AS "case";
END;

ALTER FUNCTION ledger_api.position_at(fleet text, moment timestamp with time zone) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.position_at(fleet text, moment timestamp with time zone) IS 'Position of the last event by a time; null before the first.';

CREATE FUNCTION ledger.decided_at(fleet text, moment timestamp with time zone) RETURNS bigint
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT
         CASE
             WHEN (NOT ledger.is_decided(decided_at.fleet, NULL::bigint)) THEN NULL::bigint
             WHEN (found.at > found.through) THEN found.through
             ELSE found.at
         END AS at
    FROM ( SELECT ledger_api.position_at(decided_at.fleet, decided_at.moment) AS at,
             ( SELECT d.through
                    FROM ledger.decided_over_time d
                   WHERE (d.fleet = decided_at.fleet)) AS through) found;
END;

ALTER FUNCTION ledger.decided_at(fleet text, moment timestamp with time zone) OWNER TO ledger_owner;

CREATE FUNCTION ledger.detach_partition(p_ordinal bigint) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'ledger'
    SET lock_timeout TO '200ms'
    AS $$
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
$$;

ALTER FUNCTION ledger.detach_partition(p_ordinal bigint) OWNER TO ledger_owner;

CREATE FUNCTION ledger.exact_share(held numeric, whole numeric) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (((div(held, gcd(held, whole)))::text || '/'::text) || (div(whole, gcd(held, whole)))::text);

ALTER FUNCTION ledger.exact_share(held numeric, whole numeric) OWNER TO ledger_owner;

CREATE FUNCTION ledger.forks_before(at bigint) RETURNS bigint[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN ARRAY(SELECT (((LEAST(forks_before.at, '9223372036854775806'::bigint) + 1) >> "bit"."bit") << "bit"."bit") FROM generate_series(0, 61) "bit"("bit") WHERE ((((LEAST(forks_before.at, '9223372036854775806'::bigint) + 1) >> "bit"."bit") & (1)::bigint) = 1) ORDER BY "bit"."bit");

ALTER FUNCTION ledger.forks_before(at bigint) OWNER TO ledger_owner;

CREATE FUNCTION ledger.forks_behind(at bigint) RETURNS bigint[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN ARRAY(SELECT ((((LEAST(forks_behind.at, '9223372036854775806'::bigint) + 1) >> "bit"."bit") | (1)::bigint) << "bit"."bit") FROM generate_series(0, 61) "bit"("bit") WHERE ((((LEAST(forks_behind.at, '9223372036854775806'::bigint) + 1) >> "bit"."bit") & (1)::bigint) = 0) ORDER BY "bit"."bit");

ALTER FUNCTION ledger.forks_behind(at bigint) OWNER TO ledger_owner;

CREATE FUNCTION ledger.has_partition(p_ordinal bigint) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'ledger'
    AS $_$
  SELECT EXISTS (
    SELECT FROM pg_inherits i
      JOIN pg_class c ON c.oid = i.inhrelid
      CROSS JOIN LATERAL regexp_match(c.relname, '^events_(\d{6})(?:_(\d{6}))?$') AS ordinals
     WHERE i.inhparent = 'ledger.events'::regclass
       AND p_ordinal BETWEEN ordinals[1]::bigint AND coalesce(ordinals[2], ordinals[1])::bigint)
$_$;

ALTER FUNCTION ledger.has_partition(p_ordinal bigint) OWNER TO ledger_owner;

CREATE FUNCTION ledger.is_recovered(p_topic text, p_partition integer) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'ledger'
    AS $$
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
$$;

ALTER FUNCTION ledger.is_recovered(p_topic text, p_partition integer) OWNER TO ledger_owner;

CREATE FUNCTION ledger.is_recovered_behind(p_fleet text, p_topic text, p_partition integer) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'ledger'
    AS $$
  SELECT coalesce((SELECT (i.taken -> p_topic ->> 'partition')::integer = p_partition
                          AND (i.taken -> p_topic ->> 'receipt')::bigint
                              >= ledger.newest_receipt(p_topic, p_partition)
                     FROM ledger.incarnations i JOIN ledger.fleets f ON f.number = i.fleet
                    WHERE f.name = p_fleet ORDER BY i.incarnation DESC LIMIT 1), false)
$$;

ALTER FUNCTION ledger.is_recovered_behind(p_fleet text, p_topic text, p_partition integer) OWNER TO ledger_owner;

CREATE FUNCTION ledger.lock_tree(p_fleet integer, p_tree text) RETURNS TABLE(size bigint, frontier bytea, recorded_at_micros bigint, clock_micros bigint, incarnation integer)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'ledger'
    AS $$
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
$$;

ALTER FUNCTION ledger.lock_tree(p_fleet integer, p_tree text) OWNER TO ledger_owner;

CREATE FUNCTION ledger.make_partition(p_ordinal bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'ledger'
    SET lock_timeout TO '200ms'
    AS $$
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
$$;

ALTER FUNCTION ledger.make_partition(p_ordinal bigint) OWNER TO ledger_owner;

CREATE FUNCTION ledger.micros(moment timestamp with time zone) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN ((EXTRACT(epoch FROM moment) * (1000000)::numeric))::bigint;

ALTER FUNCTION ledger.micros(moment timestamp with time zone) OWNER TO ledger_owner;

CREATE FUNCTION ledger.moment(micros bigint) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (('1970-01-01 00:00:00+00'::timestamp with time zone + (((micros / 1000000))::double precision * '00:00:01'::interval)) + (((micros % (1000000)::bigint))::double precision * '00:00:00.000001'::interval));

ALTER FUNCTION ledger.moment(micros bigint) OWNER TO ledger_owner;

CREATE FUNCTION ledger.newest_receipt(p_topic text, p_partition integer) RETURNS bigint
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'ledger'
    AS $$
  SELECT coalesce((SELECT r.number FROM ledger.receipts r
                    WHERE r.topic = p_topic AND r.partition = p_partition
                    ORDER BY r.number DESC LIMIT 1), -1)
$$;

ALTER FUNCTION ledger.newest_receipt(p_topic text, p_partition integer) OWNER TO ledger_owner;

CREATE FUNCTION ledger.whole_of(cpu numeric, memory numeric, storage numeric) RETURNS numeric
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN ((GREATEST(cpu, (1)::numeric) * GREATEST(memory, (1)::numeric)) * GREATEST(storage, (1)::numeric));

ALTER FUNCTION ledger.whole_of(cpu numeric, memory numeric, storage numeric) OWNER TO ledger_owner;

CREATE FUNCTION ledger.of_whole(resource text, amount numeric, cpu numeric, memory numeric, storage numeric) RETURNS numeric
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN CASE resource WHEN 'cpu'::text THEN CASE WHEN (cpu > (0)::numeric) THEN (amount * ledger.whole_of((1)::numeric, memory, storage)) ELSE (0)::numeric END WHEN 'memory'::text THEN CASE WHEN (memory > (0)::numeric) THEN (amount * ledger.whole_of(cpu, (1)::numeric, storage)) ELSE (0)::numeric END WHEN 'storage'::text THEN CASE WHEN (storage > (0)::numeric) THEN (amount * ledger.whole_of(cpu, memory, (1)::numeric)) ELSE (0)::numeric END ELSE NULL::numeric END;

ALTER FUNCTION ledger.of_whole(resource text, amount numeric, cpu numeric, memory numeric, storage numeric) OWNER TO ledger_owner;

CREATE FUNCTION ledger.open_epoch(p_topic text, p_partition integer, p_owner text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'ledger'
    AS $$
DECLARE opened bigint;
BEGIN
  INSERT INTO ledger.partition_locks VALUES (p_topic, p_partition) ON CONFLICT DO NOTHING;
  PERFORM FROM ledger.partition_locks l WHERE l.topic = p_topic AND l.partition = p_partition FOR UPDATE;
  INSERT INTO ledger.partition_epochs (topic, partition, epoch, owner)
    SELECT p_topic, p_partition, coalesce(max(e.epoch), 0) + 1, p_owner
      FROM ledger.partition_epochs e WHERE e.topic = p_topic AND e.partition = p_partition
    RETURNING epoch INTO opened;
  RETURN opened;
END
$$;

ALTER FUNCTION ledger.open_epoch(p_topic text, p_partition integer, p_owner text) OWNER TO ledger_owner;

CREATE FUNCTION ledger.open_incarnation(p_fleet integer, p_incarnation integer, p_events bigint, p_decisions bigint, p_reason text, p_said bytea, p_revision smallint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'ledger'
    AS $$
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
$$;

ALTER FUNCTION ledger.open_incarnation(p_fleet integer, p_incarnation integer, p_events bigint, p_decisions bigint, p_reason text, p_said bytea, p_revision smallint) OWNER TO ledger_owner;

CREATE FUNCTION ledger.pinned(p_fleet text) RETURNS TABLE(topic text, partition integer)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'ledger'
    AS $$
  SELECT DISTINCT ON (p.topic) p.topic, p.partition FROM ledger.partition_pins p
   WHERE p.fleet = p_fleet ORDER BY p.topic, p.number DESC
$$;

ALTER FUNCTION ledger.pinned(p_fleet text) OWNER TO ledger_owner;

CREATE FUNCTION ledger.positions_per_partition() RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$SELECT 4194304::bigint$$;

ALTER FUNCTION ledger.positions_per_partition() OWNER TO ledger_owner;

CREATE PROCEDURE ledger.protect(IN history regclass)
    LANGUAGE plpgsql
    AS $$
BEGIN
  EXECUTE format(
    'CREATE TRIGGER history_rows BEFORE UPDATE OR DELETE ON %s
       FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change()', history);
  EXECUTE format(
    'CREATE TRIGGER history_whole BEFORE TRUNCATE ON %s
       FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change()', history);
END
$$;

ALTER PROCEDURE ledger.protect(IN history regclass) OWNER TO ledger_owner;

CREATE FUNCTION ledger.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  RAISE EXCEPTION '%.% is history: % is refused', TG_TABLE_SCHEMA, TG_TABLE_NAME, lower(TG_OP)
    USING ERRCODE = 'LG010',
          HINT = 'a correction is a new event; ledger verify shows what was changed behind our back';
END
$$;

ALTER FUNCTION ledger.refuse_change() OWNER TO ledger_owner;

CREATE TABLE ledger.decisions (
    fleet integer NOT NULL,
    number bigint NOT NULL,
    incarnation integer NOT NULL,
    "position" bigint NOT NULL,
    kind text NOT NULL,
    subject text NOT NULL,
    algorithm text NOT NULL,
    version integer NOT NULL,
    branch text NOT NULL,
    moved bigint NOT NULL,
    previous_number bigint,
    result jsonb NOT NULL,
    reasons jsonb NOT NULL,
    record bytea NOT NULL,
    digest bytea NOT NULL,
    CONSTRAINT decisions_digest_check CHECK ((octet_length(digest) = 32)),
    CONSTRAINT decisions_number_check CHECK ((number >= 0))
);

ALTER TABLE ledger.decisions OWNER TO ledger_owner;

CREATE TABLE ledger.events (
    fleet integer NOT NULL,
    "position" bigint NOT NULL,
    incarnation integer NOT NULL,
    recorded_at_micros bigint NOT NULL,
    event_time_micros bigint,
    revision smallint NOT NULL,
    channel text NOT NULL,
    topic text,
    partition integer,
    coordinate bigint,
    source text NOT NULL,
    id text NOT NULL,
    type text NOT NULL,
    subject text NOT NULL,
    payload bytea NOT NULL,
    leaf bytea NOT NULL,
    CONSTRAINT events_channel_check CHECK ((channel = ANY (ARRAY['kafka'::text, 'file'::text, 'http'::text, 'ledger'::text]))),
    CONSTRAINT events_position_check CHECK (("position" >= 0))
)
PARTITION BY RANGE ("position");

ALTER TABLE ledger.events OWNER TO ledger_owner;

CREATE VIEW ledger_api.decisions WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    d.number,
    d."position",
    d.kind,
    d.subject,
    d.algorithm,
    d.version,
    d.branch,
    d.moved,
    d.previous_number,
    d.result,
    d.reasons,
    encode(d.digest, 'hex'::text) AS digest,
    ((((f.name || '/'::text) || d.incarnation) || '/'::text) || d.number) AS decision,
    d.record,
    ( SELECT ledger.moment(e.recorded_at_micros) AS moment
           FROM ledger.events e
          WHERE ((e.fleet = d.fleet) AND (e."position" = d."position"))) AS recorded_at,
    ( SELECT e.type
           FROM ledger.events e
          WHERE ((e.fleet = d.fleet) AND (e."position" = d."position"))) AS event_type,
    ( SELECT e.subject
           FROM ledger.events e
          WHERE ((e.fleet = d.fleet) AND (e."position" = d."position"))) AS event_subject
   FROM (ledger.decisions d
     JOIN ledger.seen_fleets f ON ((f.number = d.fleet)));

ALTER VIEW ledger_api.decisions OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.decisions IS 'A decision a row: what was decided, from which event, by which rule, and why.';

COMMENT ON COLUMN ledger_api.decisions.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.decisions.number IS 'Place among the fleet''s decisions, from 0, without gaps.';

COMMENT ON COLUMN ledger_api.decisions."position" IS 'Position of the event that made it due.';

COMMENT ON COLUMN ledger_api.decisions.kind IS 'division, deployment, capacity_class, allocation, eviction, disk_placement, repair, proposal, incident or refusal.';

COMMENT ON COLUMN ledger_api.decisions.subject IS 'Key of what was decided about.';

COMMENT ON COLUMN ledger_api.decisions.algorithm IS 'The system that answered.';

COMMENT ON COLUMN ledger_api.decisions.version IS 'Its version.';

COMMENT ON COLUMN ledger_api.decisions.branch IS 'Which rule of the system applied, such as keep, exact, redraw or placed.';

COMMENT ON COLUMN ledger_api.decisions.moved IS 'How much changed its place against the previous decision.';

COMMENT ON COLUMN ledger_api.decisions.previous_number IS 'The previous decision about the same subject.';

COMMENT ON COLUMN ledger_api.decisions.result IS 'The answer.';

COMMENT ON COLUMN ledger_api.decisions.reasons IS 'The numbers that let a reader redo it.';

COMMENT ON COLUMN ledger_api.decisions.digest IS 'Leaf hash in the decision tree, in hex.';

COMMENT ON COLUMN ledger_api.decisions.decision IS 'Its name outside this database: fleet/incarnation/number.';

COMMENT ON COLUMN ledger_api.decisions.record IS 'The record whole, as the bytes that the digest is taken over: also the lot, the policy and the digest of what went in.';

COMMENT ON COLUMN ledger_api.decisions.recorded_at IS 'Fleet time of the event that made it due; null where that was archived.';

COMMENT ON COLUMN ledger_api.decisions.event_type IS 'Type of that event.';

COMMENT ON COLUMN ledger_api.decisions.event_subject IS 'Key of the object that the event speaks of.';

CREATE FUNCTION ledger_api.decisions_between(fleet text, "from" bigint, "to" bigint) RETURNS SETOF ledger_api.decisions
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT d.fleet,
     d.number,
     d."position",
     d.kind,
     d.subject,
     d.algorithm,
     d.version,
     d.branch,
     d.moved,
     d.previous_number,
     d.result,
     d.reasons,
     d.digest,
     d.decision,
     d.record,
     d.recorded_at,
     d.event_type,
     d.event_subject
    FROM ledger_api.decisions d
   WHERE ((d.fleet = decisions_between.fleet) AND (d."position" >= decisions_between."from") AND (d."position" <= decisions_between."to") AND ledger.is_decided(decisions_between.fleet, decisions_between."to"));
END;

ALTER FUNCTION ledger_api.decisions_between(fleet text, "from" bigint, "to" bigint) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.decisions_between(fleet text, "from" bigint, "to" bigint) IS 'The decisions that the events from one position to another made due, both included.';

CREATE FUNCTION ledger_api.decisions_between(fleet text, "from" timestamp with time zone, "to" timestamp with time zone) RETURNS SETOF ledger_api.decisions
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT d.fleet,
     d.number,
     d."position",
     d.kind,
     d.subject,
     d.algorithm,
     d.version,
     d.branch,
     d.moved,
     d.previous_number,
     d.result,
     d.reasons,
     d.digest,
     d.decision,
     d.record,
     d.recorded_at,
     d.event_type,
     d.event_subject
    FROM ledger_api.decisions_between(decisions_between.fleet, ( SELECT (COALESCE(ledger_api.position_at(decisions_between.fleet, (decisions_between."from" - '00:00:00.000001'::interval)), ('-1'::integer)::bigint) + 1)), ( SELECT ledger.decided_at(decisions_between.fleet, decisions_between."to") AS decided_at)) d(fleet, number, "position", kind, subject, algorithm, version, branch, moved, previous_number, result, reasons, digest, decision, record, recorded_at, event_type, event_subject);
END;

ALTER FUNCTION ledger_api.decisions_between(fleet text, "from" timestamp with time zone, "to" timestamp with time zone) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.decisions_between(fleet text, "from" timestamp with time zone, "to" timestamp with time zone) IS 'The same of the events that were recorded from one time to another, both included.';

CREATE TABLE ledger.disk_books (
    fleet integer NOT NULL,
    cluster text NOT NULL,
    node text NOT NULL,
    disk text NOT NULL,
    maximum bigint NOT NULL,
    available bigint NOT NULL,
    reserved bigint NOT NULL,
    scheduled numeric NOT NULL,
    from_position bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY ledger.disk_books ALTER COLUMN fleet SET (n_distinct=10);

ALTER TABLE ledger.disk_books OWNER TO ledger_owner;

CREATE TABLE ledger.past_disk_books (
    fleet integer CONSTRAINT disk_books_fleet_not_null NOT NULL,
    cluster text CONSTRAINT disk_books_cluster_not_null NOT NULL,
    node text CONSTRAINT disk_books_node_not_null NOT NULL,
    disk text CONSTRAINT disk_books_disk_not_null NOT NULL,
    maximum bigint CONSTRAINT disk_books_maximum_not_null NOT NULL,
    available bigint CONSTRAINT disk_books_available_not_null NOT NULL,
    reserved bigint CONSTRAINT disk_books_reserved_not_null NOT NULL,
    scheduled numeric CONSTRAINT disk_books_scheduled_not_null NOT NULL,
    from_position bigint DEFAULT 0 CONSTRAINT disk_books_from_position_not_null NOT NULL,
    until_position bigint NOT NULL,
    fork bigint NOT NULL
);

ALTER TABLE ledger.past_disk_books OWNER TO ledger_owner;

CREATE VIEW ledger.disk_books_over_time WITH (security_barrier='true') AS
 SELECT fleet AS fleet_number,
    cluster,
    node,
    disk,
    maximum,
    available,
    reserved,
    scheduled,
    (((maximum - reserved))::numeric - scheduled) AS free,
    from_position,
    until_position,
    fork
   FROM ( SELECT o.fleet,
            o.cluster,
            o.node,
            o.disk,
            o.maximum,
            o.available,
            o.reserved,
            o.scheduled,
            o.from_position,
            o.until_position,
            o.fork
           FROM ledger.past_disk_books o
        UNION ALL
         SELECT o.fleet,
            o.cluster,
            o.node,
            o.disk,
            o.maximum,
            o.available,
            o.reserved,
            o.scheduled,
            o.from_position,
            NULL::bigint,
            NULL::bigint
           FROM ledger.disk_books o) b
  WHERE (fleet = ANY (ARRAY( SELECT f.number
           FROM ledger.seen_fleets f)));

ALTER VIEW ledger.disk_books_over_time OWNER TO ledger_owner;

CREATE VIEW ledger_api.disk_books WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    b.cluster,
    b.node,
    b.disk,
    b.maximum,
    b.available,
    b.reserved,
    b.scheduled,
    (((b.maximum - b.reserved))::numeric - b.scheduled) AS free
   FROM (ledger.disk_books b
     JOIN ledger.seen_fleets f ON ((f.number = b.fleet)));

ALTER VIEW ledger_api.disk_books OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.disk_books IS 'A disk a row: what it has, what is scheduled on it, what is free.';

COMMENT ON COLUMN ledger_api.disk_books.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.disk_books.cluster IS 'Cluster of the disk; empty where the fleet does not name it.';

COMMENT ON COLUMN ledger_api.disk_books.node IS 'Node of the disk.';

COMMENT ON COLUMN ledger_api.disk_books.disk IS 'The disk.';

COMMENT ON COLUMN ledger_api.disk_books.maximum IS 'Bytes of the disk, as it was told last.';

COMMENT ON COLUMN ledger_api.disk_books.available IS 'Bytes that nothing was written to, as they were told last.';

COMMENT ON COLUMN ledger_api.disk_books.reserved IS 'Bytes that are kept for others.';

COMMENT ON COLUMN ledger_api.disk_books.scheduled IS 'The sizes of the replicas in force on it, added up.';

COMMENT ON COLUMN ledger_api.disk_books.free IS 'maximum less reserved and scheduled; below zero where more is promised than there is, as the policy may allow.';

CREATE FUNCTION ledger_api.disk_books_as_of(fleet text, "position" bigint) RETURNS SETOF ledger_api.disk_books
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT disk_books_as_of.fleet AS fleet,
     r.cluster,
     r.node,
     r.disk,
     r.maximum,
     r.available,
     r.reserved,
     r.scheduled,
     r.free
    FROM (ledger.seen_fleets f
      CROSS JOIN LATERAL ( SELECT t.fleet_number,
             t.cluster,
             t.node,
             t.disk,
             t.maximum,
             t.available,
             t.reserved,
             t.scheduled,
             t.free,
             t.from_position,
             t.until_position,
             t.fork
            FROM ledger.disk_books_over_time t
           WHERE ((t.fleet_number = f.number) AND (t.fork = ANY (ledger.forks_before(disk_books_as_of."position"))) AND (t.until_position > disk_books_as_of."position"))
         UNION ALL
          SELECT t.fleet_number,
             t.cluster,
             t.node,
             t.disk,
             t.maximum,
             t.available,
             t.reserved,
             t.scheduled,
             t.free,
             t.from_position,
             t.until_position,
             t.fork
            FROM ledger.disk_books_over_time t
           WHERE ((t.fleet_number = f.number) AND (t.fork = ANY (ledger.forks_behind(disk_books_as_of."position"))) AND (t.from_position <= disk_books_as_of."position"))
         UNION ALL
          SELECT t.fleet_number,
             t.cluster,
             t.node,
             t.disk,
             t.maximum,
             t.available,
             t.reserved,
             t.scheduled,
             t.free,
             t.from_position,
             t.until_position,
             t.fork
            FROM ledger.disk_books_over_time t
           WHERE ((t.fleet_number = f.number) AND (t.fork IS NULL) AND (t.from_position <= disk_books_as_of."position"))) r)
   WHERE ((f.name = disk_books_as_of.fleet) AND ledger.is_decided(disk_books_as_of.fleet, disk_books_as_of."position"));
END;

ALTER FUNCTION ledger_api.disk_books_as_of(fleet text, "position" bigint) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.disk_books_as_of(fleet text, "position" bigint) IS 'The view disk_books as of a position: once the event there was decided.';

CREATE FUNCTION ledger_api.disk_books_at(fleet text, moment timestamp with time zone) RETURNS SETOF ledger_api.disk_books
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT t.fleet,
     t.cluster,
     t.node,
     t.disk,
     t.maximum,
     t.available,
     t.reserved,
     t.scheduled,
     t.free
    FROM ledger_api.disk_books_as_of(disk_books_at.fleet, ( SELECT ledger.decided_at(disk_books_at.fleet, disk_books_at.moment) AS decided_at)) t(fleet, cluster, node, disk, maximum, available, reserved, scheduled, free);
END;

ALTER FUNCTION ledger_api.disk_books_at(fleet text, moment timestamp with time zone) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.disk_books_at(fleet text, moment timestamp with time zone) IS 'The same as of a time: of the last event by then that is decided.';

CREATE TABLE ledger.fair_shares (
    fleet integer NOT NULL,
    queue text NOT NULL,
    namespace text NOT NULL,
    resource text NOT NULL,
    number bigint NOT NULL,
    requested numeric NOT NULL,
    deserved numeric NOT NULL,
    deserved_exact text NOT NULL,
    allocated numeric NOT NULL,
    from_position bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY ledger.fair_shares ALTER COLUMN fleet SET (n_distinct=10);

ALTER TABLE ledger.fair_shares OWNER TO ledger_owner;

CREATE TABLE ledger.past_fair_shares (
    fleet integer CONSTRAINT fair_shares_fleet_not_null NOT NULL,
    queue text CONSTRAINT fair_shares_queue_not_null NOT NULL,
    namespace text CONSTRAINT fair_shares_namespace_not_null NOT NULL,
    resource text CONSTRAINT fair_shares_resource_not_null NOT NULL,
    number bigint CONSTRAINT fair_shares_number_not_null NOT NULL,
    requested numeric CONSTRAINT fair_shares_requested_not_null NOT NULL,
    deserved numeric CONSTRAINT fair_shares_deserved_not_null NOT NULL,
    deserved_exact text CONSTRAINT fair_shares_deserved_exact_not_null NOT NULL,
    allocated numeric CONSTRAINT fair_shares_allocated_not_null NOT NULL,
    from_position bigint DEFAULT 0 CONSTRAINT fair_shares_from_position_not_null NOT NULL,
    until_position bigint NOT NULL,
    fork bigint NOT NULL
);

ALTER TABLE ledger.past_fair_shares OWNER TO ledger_owner;

CREATE VIEW ledger.fair_shares_over_time WITH (security_barrier='true') AS
 SELECT fleet AS fleet_number,
    queue,
    namespace,
    resource,
    number,
    requested,
    deserved,
    deserved_exact,
    allocated,
    from_position,
    until_position,
    fork
   FROM ( SELECT o.fleet,
            o.queue,
            o.namespace,
            o.resource,
            o.number,
            o.requested,
            o.deserved,
            o.deserved_exact,
            o.allocated,
            o.from_position,
            o.until_position,
            o.fork
           FROM ledger.past_fair_shares o
        UNION ALL
         SELECT o.fleet,
            o.queue,
            o.namespace,
            o.resource,
            o.number,
            o.requested,
            o.deserved,
            o.deserved_exact,
            o.allocated,
            o.from_position,
            NULL::bigint,
            NULL::bigint
           FROM ledger.fair_shares o) s
  WHERE (fleet = ANY (ARRAY( SELECT f.number
           FROM ledger.seen_fleets f)));

ALTER VIEW ledger.fair_shares_over_time OWNER TO ledger_owner;

CREATE TABLE ledger.namespace_weights (
    fleet integer NOT NULL,
    namespace text NOT NULL,
    weight numeric NOT NULL,
    from_position bigint NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY ledger.namespace_weights ALTER COLUMN fleet SET (n_distinct=10);

ALTER TABLE ledger.namespace_weights OWNER TO ledger_owner;

CREATE TABLE ledger.past_namespace_weights (
    fleet integer CONSTRAINT namespace_weights_fleet_not_null NOT NULL,
    namespace text CONSTRAINT namespace_weights_namespace_not_null NOT NULL,
    weight numeric CONSTRAINT namespace_weights_weight_not_null NOT NULL,
    from_position bigint CONSTRAINT namespace_weights_from_position_not_null NOT NULL,
    until_position bigint NOT NULL,
    fork bigint NOT NULL
);

ALTER TABLE ledger.past_namespace_weights OWNER TO ledger_owner;

CREATE VIEW ledger.namespace_weights_over_time WITH (security_barrier='true') AS
 SELECT fleet AS fleet_number,
    namespace,
    weight,
    from_position,
    until_position,
    fork
   FROM ( SELECT o.fleet,
            o.namespace,
            o.weight,
            o.from_position,
            o.until_position,
            o.fork
           FROM ledger.past_namespace_weights o
        UNION ALL
         SELECT o.fleet,
            o.namespace,
            o.weight,
            o.from_position,
            NULL::bigint,
            NULL::bigint
           FROM ledger.namespace_weights o) w
  WHERE (fleet = ANY (ARRAY( SELECT f.number
           FROM ledger.seen_fleets f)));

ALTER VIEW ledger.namespace_weights_over_time OWNER TO ledger_owner;

CREATE TABLE ledger.past_shared_totals (
    fleet integer CONSTRAINT shared_totals_fleet_not_null NOT NULL,
    resource text CONSTRAINT shared_totals_resource_not_null NOT NULL,
    total numeric CONSTRAINT shared_totals_total_not_null NOT NULL,
    from_position bigint CONSTRAINT shared_totals_from_position_not_null NOT NULL,
    until_position bigint NOT NULL,
    fork bigint NOT NULL
);

ALTER TABLE ledger.past_shared_totals OWNER TO ledger_owner;

CREATE TABLE ledger.shared_totals (
    fleet integer NOT NULL,
    resource text NOT NULL,
    total numeric NOT NULL,
    from_position bigint NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY ledger.shared_totals ALTER COLUMN fleet SET (n_distinct=10);

ALTER TABLE ledger.shared_totals OWNER TO ledger_owner;

CREATE VIEW ledger.shared_totals_over_time WITH (security_barrier='true') AS
 SELECT fleet AS fleet_number,
    resource,
    total,
    from_position,
    until_position,
    fork
   FROM ( SELECT o.fleet,
            o.resource,
            o.total,
            o.from_position,
            o.until_position,
            o.fork
           FROM ledger.past_shared_totals o
        UNION ALL
         SELECT o.fleet,
            o.resource,
            o.total,
            o.from_position,
            NULL::bigint,
            NULL::bigint
           FROM ledger.shared_totals o) t
  WHERE (fleet = ANY (ARRAY( SELECT f.number
           FROM ledger.seen_fleets f)));

ALTER VIEW ledger.shared_totals_over_time OWNER TO ledger_owner;

CREATE VIEW ledger_api.fair_shares WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    s.queue,
    s.namespace,
    s.resource,
    s.number,
    COALESCE(w.weight, (1)::numeric) AS weight,
    s.requested,
    s.deserved,
    s.deserved_exact,
    s.allocated,
    ledger.exact_share(held.part, (held.whole * COALESCE(w.weight, (1)::numeric))) AS weighted_share
   FROM ((((((ledger.fair_shares s
     JOIN ledger.seen_fleets f ON ((f.number = s.fleet)))
     LEFT JOIN ledger.namespace_weights w ON (((w.fleet = s.fleet) AND (w.namespace = s.namespace))))
     LEFT JOIN ledger.shared_totals c ON (((c.fleet = s.fleet) AND (c.resource = 'cpu'::text))))
     LEFT JOIN ledger.shared_totals m ON (((m.fleet = s.fleet) AND (m.resource = 'memory'::text))))
     LEFT JOIN ledger.shared_totals d ON (((d.fleet = s.fleet) AND (d.resource = 'storage'::text))))
     CROSS JOIN LATERAL ( SELECT max(ledger.of_whole(o.resource, o.allocated, c.total, m.total, d.total)) AS part,
            ledger.whole_of(c.total, m.total, d.total) AS whole
           FROM ledger.fair_shares o
          WHERE ((o.fleet = s.fleet) AND (o.queue = s.queue) AND (o.namespace = s.namespace))) held);

ALTER VIEW ledger_api.fair_shares OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.fair_shares IS 'A namespace in a queue and a resource a row, as of the last round that placed or evicted anything.';

COMMENT ON COLUMN ledger_api.fair_shares.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.fair_shares.queue IS 'The queue.';

COMMENT ON COLUMN ledger_api.fair_shares.namespace IS 'The namespace.';

COMMENT ON COLUMN ledger_api.fair_shares.resource IS 'The resource that is counted: cpu in milli-cores, memory and storage in bytes.';

COMMENT ON COLUMN ledger_api.fair_shares.number IS 'The decision that told last what is requested, deserved and allocated: the first of its round.';

COMMENT ON COLUMN ledger_api.fair_shares.weight IS 'What the namespace weighs.';

COMMENT ON COLUMN ledger_api.fair_shares.requested IS 'What its jobs in the queue hold and wait for.';

COMMENT ON COLUMN ledger_api.fair_shares.deserved IS 'Its part of what the queue deserves, in whole units, rounded down.';

COMMENT ON COLUMN ledger_api.fair_shares.deserved_exact IS 'The same exactly, as num/den.';

COMMENT ON COLUMN ledger_api.fair_shares.allocated IS 'What its tasks hold in the queue.';

COMMENT ON COLUMN ledger_api.fair_shares.weighted_share IS 'The dominant share of all that it holds in the queue, of what there was to share out in the last round that placed or evicted anything, divided by its weight, as num/den.';

CREATE FUNCTION ledger_api.fair_shares_as_of(fleet text, "position" bigint) RETURNS SETOF ledger_api.fair_shares
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT fair_shares_as_of.fleet AS fleet,
     s.queue,
     s.namespace,
     s.resource,
     s.number,
     COALESCE(w.weight, (1)::numeric) AS "coalesce",
     s.requested,
     s.deserved,
     s.deserved_exact,
     s.allocated,
     ledger.exact_share(max(ledger.of_whole(s.resource, s.allocated, t.cpu, t.memory, t.storage)) OVER (PARTITION BY s.queue, s.namespace), (ledger.whole_of(t.cpu, t.memory, t.storage) * COALESCE(w.weight, (1)::numeric))) AS exact_share
    FROM (((ledger.seen_fleets f
      CROSS JOIN LATERAL ( SELECT t_1.fleet_number,
             t_1.queue,
             t_1.namespace,
             t_1.resource,
             t_1.number,
             t_1.requested,
             t_1.deserved,
             t_1.deserved_exact,
             t_1.allocated,
             t_1.from_position,
             t_1.until_position,
             t_1.fork
            FROM ledger.fair_shares_over_time t_1
           WHERE ((t_1.fleet_number = f.number) AND (t_1.fork = ANY (ledger.forks_before(fair_shares_as_of."position"))) AND (t_1.until_position > fair_shares_as_of."position"))
         UNION ALL
          SELECT t_1.fleet_number,
             t_1.queue,
             t_1.namespace,
             t_1.resource,
             t_1.number,
             t_1.requested,
             t_1.deserved,
             t_1.deserved_exact,
             t_1.allocated,
             t_1.from_position,
             t_1.until_position,
             t_1.fork
            FROM ledger.fair_shares_over_time t_1
           WHERE ((t_1.fleet_number = f.number) AND (t_1.fork = ANY (ledger.forks_behind(fair_shares_as_of."position"))) AND (t_1.from_position <= fair_shares_as_of."position"))
         UNION ALL
          SELECT t_1.fleet_number,
             t_1.queue,
             t_1.namespace,
             t_1.resource,
             t_1.number,
             t_1.requested,
             t_1.deserved,
             t_1.deserved_exact,
             t_1.allocated,
             t_1.from_position,
             t_1.until_position,
             t_1.fork
            FROM ledger.fair_shares_over_time t_1
           WHERE ((t_1.fleet_number = f.number) AND (t_1.fork IS NULL) AND (t_1.from_position <= fair_shares_as_of."position"))) s)
      LEFT JOIN LATERAL ( SELECT t_1.fleet_number,
             t_1.namespace,
             t_1.weight,
             t_1.from_position,
             t_1.until_position,
             t_1.fork
            FROM ledger.namespace_weights_over_time t_1
           WHERE ((t_1.fleet_number = f.number) AND (t_1.fork = ANY (ledger.forks_before(fair_shares_as_of."position"))) AND (t_1.until_position > fair_shares_as_of."position"))
         UNION ALL
          SELECT t_1.fleet_number,
             t_1.namespace,
             t_1.weight,
             t_1.from_position,
             t_1.until_position,
             t_1.fork
            FROM ledger.namespace_weights_over_time t_1
           WHERE ((t_1.fleet_number = f.number) AND (t_1.fork = ANY (ledger.forks_behind(fair_shares_as_of."position"))) AND (t_1.from_position <= fair_shares_as_of."position"))
         UNION ALL
          SELECT t_1.fleet_number,
             t_1.namespace,
             t_1.weight,
             t_1.from_position,
             t_1.until_position,
             t_1.fork
            FROM ledger.namespace_weights_over_time t_1
           WHERE ((t_1.fleet_number = f.number) AND (t_1.fork IS NULL) AND (t_1.from_position <= fair_shares_as_of."position"))) w USING (namespace))
      CROSS JOIN LATERAL ( SELECT max(r.total) FILTER (WHERE (r.resource = 'cpu'::text)) AS cpu,
             max(r.total) FILTER (WHERE (r.resource = 'memory'::text)) AS memory,
             max(r.total) FILTER (WHERE (r.resource = 'storage'::text)) AS storage
            FROM ( SELECT t_1.fleet_number,
                     t_1.resource,
                     t_1.total,
                     t_1.from_position,
                     t_1.until_position,
                     t_1.fork
                    FROM ledger.shared_totals_over_time t_1
                   WHERE ((t_1.fleet_number = f.number) AND (t_1.fork = ANY (ledger.forks_before(fair_shares_as_of."position"))) AND (t_1.until_position > fair_shares_as_of."position"))
                 UNION ALL
                  SELECT t_1.fleet_number,
                     t_1.resource,
                     t_1.total,
                     t_1.from_position,
                     t_1.until_position,
                     t_1.fork
                    FROM ledger.shared_totals_over_time t_1
                   WHERE ((t_1.fleet_number = f.number) AND (t_1.fork = ANY (ledger.forks_behind(fair_shares_as_of."position"))) AND (t_1.from_position <= fair_shares_as_of."position"))
                 UNION ALL
                  SELECT t_1.fleet_number,
                     t_1.resource,
                     t_1.total,
                     t_1.from_position,
                     t_1.until_position,
                     t_1.fork
                    FROM ledger.shared_totals_over_time t_1
                   WHERE ((t_1.fleet_number = f.number) AND (t_1.fork IS NULL) AND (t_1.from_position <= fair_shares_as_of."position"))) r) t)
   WHERE ((f.name = fair_shares_as_of.fleet) AND ledger.is_decided(fair_shares_as_of.fleet, fair_shares_as_of."position"));
END;

ALTER FUNCTION ledger_api.fair_shares_as_of(fleet text, "position" bigint) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.fair_shares_as_of(fleet text, "position" bigint) IS 'The view fair_shares as of a position: once the event there was decided.';

CREATE FUNCTION ledger_api.fair_shares_at(fleet text, moment timestamp with time zone) RETURNS SETOF ledger_api.fair_shares
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT t.fleet,
     t.queue,
     t.namespace,
     t.resource,
     t.number,
     t.weight,
     t.requested,
     t.deserved,
     t.deserved_exact,
     t.allocated,
     t.weighted_share
    FROM ledger_api.fair_shares_as_of(fair_shares_at.fleet, ( SELECT ledger.decided_at(fair_shares_at.fleet, fair_shares_at.moment) AS decided_at)) t(fleet, queue, namespace, resource, number, weight, requested, deserved, deserved_exact, allocated, weighted_share);
END;

ALTER FUNCTION ledger_api.fair_shares_at(fleet text, moment timestamp with time zone) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.fair_shares_at(fleet text, moment timestamp with time zone) IS 'The same as of a time: of the last event by then that is decided.';

CREATE TABLE ledger.open_incidents (
    fleet integer NOT NULL,
    subject text NOT NULL,
    what text NOT NULL,
    node text NOT NULL,
    number bigint NOT NULL,
    from_position bigint NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY ledger.open_incidents ALTER COLUMN fleet SET (n_distinct=10);

ALTER TABLE ledger.open_incidents OWNER TO ledger_owner;

CREATE TABLE ledger.past_open_incidents (
    fleet integer CONSTRAINT open_incidents_fleet_not_null NOT NULL,
    subject text CONSTRAINT open_incidents_subject_not_null NOT NULL,
    what text CONSTRAINT open_incidents_what_not_null NOT NULL,
    node text CONSTRAINT open_incidents_node_not_null NOT NULL,
    number bigint CONSTRAINT open_incidents_number_not_null NOT NULL,
    from_position bigint CONSTRAINT open_incidents_from_position_not_null NOT NULL,
    until_position bigint NOT NULL,
    fork bigint NOT NULL
);

ALTER TABLE ledger.past_open_incidents OWNER TO ledger_owner;

CREATE VIEW ledger.open_incidents_over_time WITH (security_barrier='true') AS
 SELECT fleet AS fleet_number,
    number,
    from_position AS "position",
    what AS kind,
    subject AS address,
    node,
    from_position,
    until_position,
    fork
   FROM ( SELECT o.fleet,
            o.number,
            o.what,
            o.subject,
            o.node,
            o.from_position,
            o.until_position,
            o.fork
           FROM ledger.past_open_incidents o
        UNION ALL
         SELECT o.fleet,
            o.number,
            o.what,
            o.subject,
            o.node,
            o.from_position,
            NULL::bigint,
            NULL::bigint
           FROM ledger.open_incidents o) i
  WHERE (fleet = ANY (ARRAY( SELECT f.number
           FROM ledger.seen_fleets f)));

ALTER VIEW ledger.open_incidents_over_time OWNER TO ledger_owner;

CREATE VIEW ledger_api.open_incidents WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    o.number,
    o.from_position AS "position",
    o.what AS kind,
    o.subject AS address,
    o.node
   FROM (ledger.open_incidents o
     JOIN ledger.seen_fleets f ON ((f.number = o.fleet)));

ALTER VIEW ledger_api.open_incidents OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.open_incidents IS 'What contradicts the book of a fleet now, a row each; incidents has the numbers.';

COMMENT ON COLUMN ledger_api.open_incidents.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.open_incidents.number IS 'The decision that recorded it.';

COMMENT ON COLUMN ledger_api.open_incidents."position" IS 'Position of the event since which it is known.';

COMMENT ON COLUMN ledger_api.open_incidents.kind IS 'Kind of incident, one of docs/errors.md.';

COMMENT ON COLUMN ledger_api.open_incidents.address IS 'What it concerns: a cluster/node, a namespace/workload@cluster, a namespace/quota, the fleet.';

COMMENT ON COLUMN ledger_api.open_incidents.node IS 'Where it is, as cluster/node; what it concerns where it is nowhere.';

CREATE FUNCTION ledger_api.open_incidents_as_of(fleet text, "position" bigint) RETURNS SETOF ledger_api.open_incidents
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT open_incidents_as_of.fleet AS fleet,
     r.number,
     r."position",
     r.kind,
     r.address,
     r.node
    FROM (ledger.seen_fleets f
      CROSS JOIN LATERAL ( SELECT t.fleet_number,
             t.number,
             t."position",
             t.kind,
             t.address,
             t.node,
             t.from_position,
             t.until_position,
             t.fork
            FROM ledger.open_incidents_over_time t
           WHERE ((t.fleet_number = f.number) AND (t.fork = ANY (ledger.forks_before(open_incidents_as_of."position"))) AND (t.until_position > open_incidents_as_of."position"))
         UNION ALL
          SELECT t.fleet_number,
             t.number,
             t."position",
             t.kind,
             t.address,
             t.node,
             t.from_position,
             t.until_position,
             t.fork
            FROM ledger.open_incidents_over_time t
           WHERE ((t.fleet_number = f.number) AND (t.fork = ANY (ledger.forks_behind(open_incidents_as_of."position"))) AND (t.from_position <= open_incidents_as_of."position"))
         UNION ALL
          SELECT t.fleet_number,
             t.number,
             t."position",
             t.kind,
             t.address,
             t.node,
             t.from_position,
             t.until_position,
             t.fork
            FROM ledger.open_incidents_over_time t
           WHERE ((t.fleet_number = f.number) AND (t.fork IS NULL) AND (t.from_position <= open_incidents_as_of."position"))) r)
   WHERE ((f.name = open_incidents_as_of.fleet) AND ledger.is_decided(open_incidents_as_of.fleet, open_incidents_as_of."position"));
END;

ALTER FUNCTION ledger_api.open_incidents_as_of(fleet text, "position" bigint) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.open_incidents_as_of(fleet text, "position" bigint) IS 'The view open_incidents as of a position: once the event there was decided.';

CREATE TABLE ledger.open_refusals (
    fleet integer NOT NULL,
    wanted text NOT NULL,
    subject text NOT NULL,
    number bigint NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    waits_for text DEFAULT ''::text NOT NULL,
    from_position bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY ledger.open_refusals ALTER COLUMN fleet SET (n_distinct=10);

ALTER TABLE ledger.open_refusals OWNER TO ledger_owner;

CREATE TABLE ledger.past_open_refusals (
    fleet integer CONSTRAINT open_refusals_fleet_not_null NOT NULL,
    wanted text CONSTRAINT open_refusals_wanted_not_null NOT NULL,
    subject text CONSTRAINT open_refusals_subject_not_null NOT NULL,
    number bigint CONSTRAINT open_refusals_number_not_null NOT NULL,
    reason text DEFAULT ''::text CONSTRAINT open_refusals_reason_not_null NOT NULL,
    waits_for text DEFAULT ''::text CONSTRAINT open_refusals_waits_for_not_null NOT NULL,
    from_position bigint DEFAULT 0 CONSTRAINT open_refusals_from_position_not_null NOT NULL,
    until_position bigint NOT NULL,
    fork bigint NOT NULL
);

ALTER TABLE ledger.past_open_refusals OWNER TO ledger_owner;

CREATE VIEW ledger.open_refusals_over_time WITH (security_barrier='true') AS
 SELECT fleet AS fleet_number,
    number,
    from_position AS "position",
    wanted AS kind_wanted,
    subject,
    reason,
    waits_for,
    from_position,
    until_position,
    fork,
    ( SELECT (d.reasons -> 'detail'::text)
           FROM ledger.decisions d
          WHERE ((d.fleet = r.fleet) AND (d.number = r.number))) AS detail
   FROM ( SELECT o.fleet,
            o.number,
            o.wanted,
            o.subject,
            o.reason,
            o.waits_for,
            o.from_position,
            o.until_position,
            o.fork
           FROM ledger.past_open_refusals o
        UNION ALL
         SELECT o.fleet,
            o.number,
            o.wanted,
            o.subject,
            o.reason,
            o.waits_for,
            o.from_position,
            NULL::bigint AS int8,
            NULL::bigint AS int8
           FROM ledger.open_refusals o) r
  WHERE (fleet = ANY (ARRAY( SELECT seen_fleets.number
           FROM ledger.seen_fleets)));

ALTER VIEW ledger.open_refusals_over_time OWNER TO ledger_owner;

CREATE VIEW ledger_api.open_refusals WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    o.number,
    o.from_position AS "position",
    o.wanted AS kind_wanted,
    o.subject,
    o.reason,
    o.waits_for,
    ( SELECT (d.reasons -> 'detail'::text)
           FROM ledger.decisions d
          WHERE ((d.fleet = o.fleet) AND (d.number = o.number))) AS detail
   FROM (ledger.open_refusals o
     JOIN ledger.seen_fleets f ON ((f.number = o.fleet)));

ALTER VIEW ledger_api.open_refusals OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.open_refusals IS 'What is wanted now and could not be served so far, a question a row.';

COMMENT ON COLUMN ledger_api.open_refusals.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.open_refusals.number IS 'The decision that refused it.';

COMMENT ON COLUMN ledger_api.open_refusals."position" IS 'Position of the event that made it due.';

COMMENT ON COLUMN ledger_api.open_refusals.kind_wanted IS 'The kind of decision that was asked for.';

COMMENT ON COLUMN ledger_api.open_refusals.subject IS 'Key of what was asked about.';

COMMENT ON COLUMN ledger_api.open_refusals.reason IS 'Reason code, such as no_candidate_cluster.';

COMMENT ON COLUMN ledger_api.open_refusals.waits_for IS 'What has to come before it is asked again.';

COMMENT ON COLUMN ledger_api.open_refusals.detail IS 'The numbers behind the reason, as they were at `position`: what was wanted, found or short.';

CREATE FUNCTION ledger_api.open_refusals_as_of(fleet text, "position" bigint) RETURNS SETOF ledger_api.open_refusals
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT open_refusals_as_of.fleet AS fleet,
     r.number,
     r."position",
     r.kind_wanted,
     r.subject,
     r.reason,
     r.waits_for,
     r.detail
    FROM (ledger.seen_fleets f
      CROSS JOIN LATERAL ( SELECT t.fleet_number,
             t.number,
             t."position",
             t.kind_wanted,
             t.subject,
             t.reason,
             t.waits_for,
             t.from_position,
             t.until_position,
             t.fork,
             t.detail
            FROM ledger.open_refusals_over_time t
           WHERE ((t.fleet_number = f.number) AND (t.fork = ANY (ledger.forks_before(open_refusals_as_of."position"))) AND (t.until_position > open_refusals_as_of."position"))
         UNION ALL
          SELECT t.fleet_number,
             t.number,
             t."position",
             t.kind_wanted,
             t.subject,
             t.reason,
             t.waits_for,
             t.from_position,
             t.until_position,
             t.fork,
             t.detail
            FROM ledger.open_refusals_over_time t
           WHERE ((t.fleet_number = f.number) AND (t.fork = ANY (ledger.forks_behind(open_refusals_as_of."position"))) AND (t.from_position <= open_refusals_as_of."position"))
         UNION ALL
          SELECT t.fleet_number,
             t.number,
             t."position",
             t.kind_wanted,
             t.subject,
             t.reason,
             t.waits_for,
             t.from_position,
             t.until_position,
             t.fork,
             t.detail
            FROM ledger.open_refusals_over_time t
           WHERE ((t.fleet_number = f.number) AND (t.fork IS NULL) AND (t.from_position <= open_refusals_as_of."position"))) r)
   WHERE ((f.name = open_refusals_as_of.fleet) AND ledger.is_decided(open_refusals_as_of.fleet, open_refusals_as_of."position"));
END;

ALTER FUNCTION ledger_api.open_refusals_as_of(fleet text, "position" bigint) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.open_refusals_as_of(fleet text, "position" bigint) IS 'The view open_refusals as of a position: once the event there was decided.';

CREATE TABLE ledger.event_effects (
    fleet integer NOT NULL,
    "position" bigint NOT NULL,
    effect text NOT NULL,
    CONSTRAINT event_effects_effect_check CHECK ((effect = ANY (ARRAY['stale'::text, 'no_effect'::text])))
);

ALTER TABLE ledger.event_effects OWNER TO ledger_owner;

CREATE VIEW ledger.heads_over_time WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    h.tree,
    h.size,
    encode(h.root, 'hex'::text) AS root
   FROM (ledger.heads h
     JOIN ledger.seen_fleets f ON ((f.number = h.fleet)));

ALTER VIEW ledger.heads_over_time OWNER TO ledger_owner;

CREATE TABLE ledger.incarnations (
    fleet integer NOT NULL,
    incarnation integer NOT NULL,
    from_size bigint NOT NULL,
    reason text NOT NULL,
    opened_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    said bytea,
    revision smallint,
    taken jsonb,
    CONSTRAINT incarnations_from_size_check CHECK ((from_size >= 0)),
    CONSTRAINT incarnations_incarnation_check CHECK ((incarnation >= 1))
);

ALTER TABLE ledger.incarnations OWNER TO ledger_owner;

CREATE VIEW ledger.incarnations_over_time WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    i.incarnation,
    i.from_size
   FROM (ledger.incarnations i
     JOIN ledger.seen_fleets f ON ((f.number = i.fleet)));

ALTER VIEW ledger.incarnations_over_time OWNER TO ledger_owner;

CREATE VIEW ledger_api.events WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    e."position",
    e.id,
    e.source,
    e.type,
    e.subject,
    ledger.moment(e.event_time_micros) AS event_time,
    ledger.moment(e.recorded_at_micros) AS recorded_at,
    e.channel,
    e.topic,
    e.partition,
        CASE
            WHEN (e.channel = 'kafka'::text) THEN e.coordinate
            ELSE NULL::bigint
        END AS kafka_offset,
        CASE
            WHEN (e."position" <= f.through) THEN COALESCE(( SELECT x.effect
               FROM ledger.event_effects x
              WHERE ((x.fleet = e.fleet) AND (x."position" = e."position"))), 'applied'::text)
            ELSE NULL::text
        END AS effect,
    e.payload,
    encode(e.leaf, 'hex'::text) AS leaf
   FROM (ledger.events e
     JOIN ( SELECT n.number,
            n.name,
            ( SELECT max(d.through) AS max
                   FROM ledger.decided d
                  WHERE (d.fleet = n.number)) AS through
           FROM ledger.seen_fleets n) f ON ((f.number = e.fleet)));

ALTER VIEW ledger_api.events OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.events IS 'An event a row, in the one order that counts.';

COMMENT ON COLUMN ledger_api.events.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.events."position" IS 'Place in the fleet''s log, from 0, without gaps.';

COMMENT ON COLUMN ledger_api.events.id IS 'The producer''s id; unique with source.';

COMMENT ON COLUMN ledger_api.events.source IS 'Who said so; unique with id.';

COMMENT ON COLUMN ledger_api.events.type IS 'Type and version, such as ledger.cluster.node.upserted.v1.';

COMMENT ON COLUMN ledger_api.events.subject IS 'Key of the object the event speaks of.';

COMMENT ON COLUMN ledger_api.events.event_time IS 'The time the producer wrote; informational, it decides nothing.';

COMMENT ON COLUMN ledger_api.events.recorded_at IS 'Fleet time: when the log took the event; never runs backwards with position.';

COMMENT ON COLUMN ledger_api.events.channel IS 'The way in: kafka, file, http or ledger.';

COMMENT ON COLUMN ledger_api.events.topic IS 'Kafka topic, where it came by Kafka.';

COMMENT ON COLUMN ledger_api.events.partition IS 'Kafka partition, where it came by Kafka.';

COMMENT ON COLUMN ledger_api.events.kafka_offset IS 'Kafka offset, where it came by Kafka.';

COMMENT ON COLUMN ledger_api.events.effect IS 'What folding made of it: applied, stale or no_effect; null until it is decided.';

COMMENT ON COLUMN ledger_api.events.payload IS 'The stored bytes.';

COMMENT ON COLUMN ledger_api.events.leaf IS 'Leaf hash in the event tree, in hex.';

CREATE VIEW ledger_api.fleets WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    f.clock,
    f.created_at,
    ( SELECT max(i.incarnation) AS max
           FROM ledger.incarnations i
          WHERE (i.fleet = f.number)) AS incarnation,
    COALESCE(e.size, (0)::bigint) AS events,
    ledger.moment(e.recorded_at_micros) AS last_recorded_at,
    encode(e.root, 'hex'::text) AS event_root,
    COALESCE(d.size, (0)::bigint) AS decisions,
    encode(d.root, 'hex'::text) AS decision_root,
    c.through AS decided_through,
        CASE
            WHEN (f.name = '_ledger'::text) THEN (0)::bigint
            ELSE ((COALESCE(e.size, (0)::bigint) - COALESCE(c.through, ('-1'::integer)::bigint)) - 1)
        END AS undecided,
    ledger.moment(w.recorded_at_micros) AS undecided_since,
        CASE
            WHEN (f.clock = 'wall'::text) THEN (GREATEST((0)::numeric, COALESCE(EXTRACT(epoch FROM (clock_timestamp() - ledger.moment(w.recorded_at_micros))), (0)::numeric)))::double precision
            ELSE NULL::double precision
        END AS lag_seconds,
    ( SELECT count(*) AS count
           FROM ledger.open_refusals o
          WHERE (o.fleet = f.number)) AS open_refusals,
    ( SELECT count(*) AS count
           FROM ledger.open_incidents o
          WHERE (o.fleet = f.number)) AS open_incidents,
    ledger.moment(c.due_at_micros) AS next_deadline,
        CASE
            WHEN (f.clock = 'wall'::text) THEN (GREATEST((0)::numeric, COALESCE(EXTRACT(epoch FROM (clock_timestamp() - ledger.moment(c.due_at_micros))), (0)::numeric)))::double precision
            ELSE NULL::double precision
        END AS overdue_seconds
   FROM ((((ledger.seen_fleets f
     LEFT JOIN LATERAL ( SELECT h.size,
            h.root,
            h.recorded_at_micros
           FROM ledger.heads h
          WHERE ((h.fleet = f.number) AND (h.tree = 'events'::text))
          ORDER BY h.size DESC
         LIMIT 1) e ON (true))
     LEFT JOIN LATERAL ( SELECT h.size,
            h.root
           FROM ledger.heads h
          WHERE ((h.fleet = f.number) AND (h.tree = 'decisions'::text))
          ORDER BY h.size DESC
         LIMIT 1) d ON (true))
     LEFT JOIN LATERAL ( SELECT x.through,
            x.due_at_micros
           FROM ledger.decided x
          WHERE (x.fleet = f.number)
          ORDER BY x.through DESC
         LIMIT 1) c ON (true))
     LEFT JOIN LATERAL ( SELECT x.recorded_at_micros
           FROM ledger.events x
          WHERE ((x.fleet = f.number) AND (x."position" = (COALESCE(c.through, ('-1'::integer)::bigint) + 1)) AND (f.name <> '_ledger'::text))
         LIMIT 1) w ON (true));

ALTER VIEW ledger_api.fleets OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.fleets IS 'A fleet a row: what one log decides for, where its two trees end, how far it is decided.';

COMMENT ON COLUMN ledger_api.fleets.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.fleets.clock IS 'Where recorded_at comes from: wall (the server''s clock) or event (the time an event carries).';

COMMENT ON COLUMN ledger_api.fleets.created_at IS 'When the fleet was opened here.';

COMMENT ON COLUMN ledger_api.fleets.incarnation IS 'Which life of the log this is; above 1 only after a restore to an earlier point.';

COMMENT ON COLUMN ledger_api.fleets.events IS 'Number of events in the log; the last position is one less.';

COMMENT ON COLUMN ledger_api.fleets.last_recorded_at IS 'Fleet time of the last event.';

COMMENT ON COLUMN ledger_api.fleets.event_root IS 'Root of the tree over all events, in hex (RFC 6962).';

COMMENT ON COLUMN ledger_api.fleets.decisions IS 'Number of decisions.';

COMMENT ON COLUMN ledger_api.fleets.decision_root IS 'Root of the tree over all decisions, in hex (RFC 6962).';

COMMENT ON COLUMN ledger_api.fleets.decided_through IS 'Position of the last event that has been decided; null before the first, and of _ledger, for which nothing is decided.';

COMMENT ON COLUMN ledger_api.fleets.undecided IS 'How many events wait to be decided; 0 of _ledger.';

COMMENT ON COLUMN ledger_api.fleets.undecided_since IS 'Fleet time of the oldest event that waits to be decided; null where none does.';

COMMENT ON COLUMN ledger_api.fleets.lag_seconds IS 'How long that event has waited, 0 where none does; null on the event clock, which does not say.';

COMMENT ON COLUMN ledger_api.fleets.open_refusals IS 'How many questions are refused now; open_refusals has them.';

COMMENT ON COLUMN ledger_api.fleets.open_incidents IS 'How many contradictions of its book there are now; open_incidents has them.';

COMMENT ON COLUMN ledger_api.fleets.next_deadline IS 'Fleet time from which on time alone decides something, by the end of a grace, a wait or a round; null where nothing runs out.';

COMMENT ON COLUMN ledger_api.fleets.overdue_seconds IS 'How long ago that was, 0 where it is to come; null on the event clock, which does not say.';

CREATE FUNCTION ledger_api.fleets_as_of(fleet text, "position" bigint) RETURNS SETOF ledger_api.fleets
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT v.fleet,
     v.clock,
     v.created_at,
     ( SELECT max(i.incarnation) AS max
            FROM ledger.incarnations_over_time i
           WHERE ((i.fleet = v.fleet) AND ((i.from_size < s.events) OR (i.from_size = 0)))) AS max,
     s.events,
     ( SELECT e.recorded_at
            FROM ledger_api.events e
           WHERE ((e.fleet = v.fleet) AND (e."position" = (s.events - 1)))) AS recorded_at,
     ( SELECT h.root
            FROM ledger.heads_over_time h
           WHERE ((h.fleet = v.fleet) AND (h.tree = 'events'::text) AND (h.size = s.events))) AS root,
     s.decisions,
     ( SELECT h.root
            FROM ledger.heads_over_time h
           WHERE ((h.fleet = v.fleet) AND (h.tree = 'decisions'::text) AND (h.size = s.decisions))) AS root,
         CASE
             WHEN (v.fleet <> '_ledger'::text) THEN NULLIF((s.events - 1), '-1'::integer)
             ELSE NULL::bigint
         END AS "case",
     (0)::bigint AS int8,
     NULL::timestamp with time zone AS timestamptz,
     NULL::double precision AS float8,
     ( SELECT count(*) AS count
            FROM ledger_api.open_refusals_as_of(fleets_as_of.fleet, fleets_as_of."position") open_refusals_as_of(fleet, number, "position", kind_wanted, subject, reason, waits_for, detail)) AS count,
     ( SELECT count(*) AS count
            FROM ledger_api.open_incidents_as_of(fleets_as_of.fleet, fleets_as_of."position") open_incidents_as_of(fleet, number, "position", kind, address, node)) AS count,
     NULL::timestamp with time zone AS timestamptz,
     NULL::double precision AS float8
    FROM (ledger_api.fleets v
      CROSS JOIN LATERAL ( SELECT (GREATEST(LEAST((v.events - 1), COALESCE(fleets_as_of."position", ('-1'::integer)::bigint)), ('-1'::integer)::bigint) + 1) AS events,
             COALESCE(( SELECT (d.number + 1)
                    FROM ledger_api.decisions d
                   WHERE ((d.fleet = v.fleet) AND (d."position" <= fleets_as_of."position"))
                   ORDER BY d."position" DESC, d.number DESC
                  LIMIT 1), (0)::bigint) AS decisions) s)
   WHERE ((v.fleet = fleets_as_of.fleet) AND ledger.is_decided(fleets_as_of.fleet, fleets_as_of."position"));
END;

ALTER FUNCTION ledger_api.fleets_as_of(fleet text, "position" bigint) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.fleets_as_of(fleet text, "position" bigint) IS 'The view fleets as of a position: once the event there was decided.';

CREATE FUNCTION ledger_api.fleets_at(fleet text, moment timestamp with time zone) RETURNS SETOF ledger_api.fleets
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT t.fleet,
     t.clock,
     t.created_at,
     t.incarnation,
     t.events,
     t.last_recorded_at,
     t.event_root,
     t.decisions,
     t.decision_root,
     t.decided_through,
     t.undecided,
     t.undecided_since,
     t.lag_seconds,
     t.open_refusals,
     t.open_incidents,
     t.next_deadline,
     t.overdue_seconds
    FROM ledger_api.fleets_as_of(fleets_at.fleet, ( SELECT ledger.decided_at(fleets_at.fleet, fleets_at.moment) AS decided_at)) t(fleet, clock, created_at, incarnation, events, last_recorded_at, event_root, decisions, decision_root, decided_through, undecided, undecided_since, lag_seconds, open_refusals, open_incidents, next_deadline, overdue_seconds);
END;

ALTER FUNCTION ledger_api.fleets_at(fleet text, moment timestamp with time zone) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.fleets_at(fleet text, moment timestamp with time zone) IS 'The same as of a time: of the last event by then that is decided.';

CREATE TABLE ledger.job_books (
    fleet integer NOT NULL,
    namespace text NOT NULL,
    job text NOT NULL,
    queue text NOT NULL,
    tasks bigint NOT NULL,
    cpu numeric NOT NULL,
    memory numeric NOT NULL,
    storage numeric NOT NULL,
    from_position bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY ledger.job_books ALTER COLUMN fleet SET (n_distinct=10);

ALTER TABLE ledger.job_books OWNER TO ledger_owner;

CREATE TABLE ledger.past_job_books (
    fleet integer CONSTRAINT job_books_fleet_not_null NOT NULL,
    namespace text CONSTRAINT job_books_namespace_not_null NOT NULL,
    job text CONSTRAINT job_books_job_not_null NOT NULL,
    queue text CONSTRAINT job_books_queue_not_null NOT NULL,
    tasks bigint CONSTRAINT job_books_tasks_not_null NOT NULL,
    cpu numeric CONSTRAINT job_books_cpu_not_null NOT NULL,
    memory numeric CONSTRAINT job_books_memory_not_null NOT NULL,
    storage numeric CONSTRAINT job_books_storage_not_null NOT NULL,
    from_position bigint DEFAULT 0 CONSTRAINT job_books_from_position_not_null NOT NULL,
    until_position bigint NOT NULL,
    fork bigint NOT NULL
);

ALTER TABLE ledger.past_job_books OWNER TO ledger_owner;

CREATE VIEW ledger.job_books_over_time WITH (security_barrier='true') AS
 SELECT fleet AS fleet_number,
    namespace,
    job,
    queue,
    tasks,
    cpu,
    memory,
    storage,
    from_position,
    until_position,
    fork
   FROM ( SELECT o.fleet,
            o.namespace,
            o.job,
            o.queue,
            o.tasks,
            o.cpu,
            o.memory,
            o.storage,
            o.from_position,
            o.until_position,
            o.fork
           FROM ledger.past_job_books o
        UNION ALL
         SELECT o.fleet,
            o.namespace,
            o.job,
            o.queue,
            o.tasks,
            o.cpu,
            o.memory,
            o.storage,
            o.from_position,
            NULL::bigint,
            NULL::bigint
           FROM ledger.job_books o) b
  WHERE (fleet = ANY (ARRAY( SELECT f.number
           FROM ledger.seen_fleets f)));

ALTER VIEW ledger.job_books_over_time OWNER TO ledger_owner;

CREATE VIEW ledger_api.job_books WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    b.namespace,
    b.job,
    b.queue,
    b.tasks,
    b.cpu,
    b.memory,
    b.storage
   FROM (ledger.job_books b
     JOIN ledger.seen_fleets f ON ((f.number = b.fleet)));

ALTER VIEW ledger_api.job_books OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.job_books IS 'A job a row: what its tasks hold now. One whose tasks hold nothing has no row.';

COMMENT ON COLUMN ledger_api.job_books.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.job_books.namespace IS 'Namespace of the job.';

COMMENT ON COLUMN ledger_api.job_books.job IS 'Name of the job.';

COMMENT ON COLUMN ledger_api.job_books.queue IS 'The queue that it is in now.';

COMMENT ON COLUMN ledger_api.job_books.tasks IS 'How many tasks run.';

COMMENT ON COLUMN ledger_api.job_books.cpu IS 'Milli-cores that they hold.';

COMMENT ON COLUMN ledger_api.job_books.memory IS 'Bytes of memory that they hold.';

COMMENT ON COLUMN ledger_api.job_books.storage IS 'Bytes of storage that they hold.';

CREATE FUNCTION ledger_api.job_books_as_of(fleet text, "position" bigint) RETURNS SETOF ledger_api.job_books
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT job_books_as_of.fleet AS fleet,
     r.namespace,
     r.job,
     r.queue,
     r.tasks,
     r.cpu,
     r.memory,
     r.storage
    FROM (ledger.seen_fleets f
      CROSS JOIN LATERAL ( SELECT t.fleet_number,
             t.namespace,
             t.job,
             t.queue,
             t.tasks,
             t.cpu,
             t.memory,
             t.storage,
             t.from_position,
             t.until_position,
             t.fork
            FROM ledger.job_books_over_time t
           WHERE ((t.fleet_number = f.number) AND (t.fork = ANY (ledger.forks_before(job_books_as_of."position"))) AND (t.until_position > job_books_as_of."position"))
         UNION ALL
          SELECT t.fleet_number,
             t.namespace,
             t.job,
             t.queue,
             t.tasks,
             t.cpu,
             t.memory,
             t.storage,
             t.from_position,
             t.until_position,
             t.fork
            FROM ledger.job_books_over_time t
           WHERE ((t.fleet_number = f.number) AND (t.fork = ANY (ledger.forks_behind(job_books_as_of."position"))) AND (t.from_position <= job_books_as_of."position"))
         UNION ALL
          SELECT t.fleet_number,
             t.namespace,
             t.job,
             t.queue,
             t.tasks,
             t.cpu,
             t.memory,
             t.storage,
             t.from_position,
             t.until_position,
             t.fork
            FROM ledger.job_books_over_time t
           WHERE ((t.fleet_number = f.number) AND (t.fork IS NULL) AND (t.from_position <= job_books_as_of."position"))) r)
   WHERE ((f.name = job_books_as_of.fleet) AND ledger.is_decided(job_books_as_of.fleet, job_books_as_of."position"));
END;

ALTER FUNCTION ledger_api.job_books_as_of(fleet text, "position" bigint) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.job_books_as_of(fleet text, "position" bigint) IS 'The view job_books as of a position: once the event there was decided.';

CREATE FUNCTION ledger_api.job_books_at(fleet text, moment timestamp with time zone) RETURNS SETOF ledger_api.job_books
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT t.fleet,
     t.namespace,
     t.job,
     t.queue,
     t.tasks,
     t.cpu,
     t.memory,
     t.storage
    FROM ledger_api.job_books_as_of(job_books_at.fleet, ( SELECT ledger.decided_at(job_books_at.fleet, job_books_at.moment) AS decided_at)) t(fleet, namespace, job, queue, tasks, cpu, memory, storage);
END;

ALTER FUNCTION ledger_api.job_books_at(fleet text, moment timestamp with time zone) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.job_books_at(fleet text, moment timestamp with time zone) IS 'The same as of a time: of the last event by then that is decided.';

CREATE FUNCTION ledger_api.open_incidents_at(fleet text, moment timestamp with time zone) RETURNS SETOF ledger_api.open_incidents
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT t.fleet,
     t.number,
     t."position",
     t.kind,
     t.address,
     t.node
    FROM ledger_api.open_incidents_as_of(open_incidents_at.fleet, ( SELECT ledger.decided_at(open_incidents_at.fleet, open_incidents_at.moment) AS decided_at)) t(fleet, number, "position", kind, address, node);
END;

ALTER FUNCTION ledger_api.open_incidents_at(fleet text, moment timestamp with time zone) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.open_incidents_at(fleet text, moment timestamp with time zone) IS 'The same as of a time: of the last event by then that is decided.';

CREATE FUNCTION ledger_api.open_refusals_at(fleet text, moment timestamp with time zone) RETURNS SETOF ledger_api.open_refusals
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT t.fleet,
     t.number,
     t."position",
     t.kind_wanted,
     t.subject,
     t.reason,
     t.waits_for,
     t.detail
    FROM ledger_api.open_refusals_as_of(open_refusals_at.fleet, ( SELECT ledger.decided_at(open_refusals_at.fleet, open_refusals_at.moment) AS decided_at)) t(fleet, number, "position", kind_wanted, subject, reason, waits_for, detail);
END;

ALTER FUNCTION ledger_api.open_refusals_at(fleet text, moment timestamp with time zone) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.open_refusals_at(fleet text, moment timestamp with time zone) IS 'The same as of a time: of the last event by then that is decided.';

CREATE TABLE ledger.past_placed_by (
    fleet integer CONSTRAINT placed_by_fleet_not_null NOT NULL,
    kind text CONSTRAINT placed_by_kind_not_null NOT NULL,
    subject text CONSTRAINT placed_by_subject_not_null NOT NULL,
    number bigint CONSTRAINT placed_by_number_not_null NOT NULL,
    from_position bigint CONSTRAINT placed_by_from_position_not_null NOT NULL,
    until_position bigint NOT NULL,
    fork bigint NOT NULL
);

ALTER TABLE ledger.past_placed_by OWNER TO ledger_owner;

CREATE TABLE ledger.past_placements (
    fleet integer CONSTRAINT past_places_fleet_not_null NOT NULL,
    kind text CONSTRAINT past_places_kind_not_null NOT NULL,
    subject text CONSTRAINT past_places_subject_not_null NOT NULL,
    cluster text CONSTRAINT past_places_cluster_not_null NOT NULL,
    node text DEFAULT ''::text CONSTRAINT past_places_node_not_null NOT NULL,
    disk text DEFAULT ''::text CONSTRAINT past_places_disk_not_null NOT NULL,
    count bigint CONSTRAINT past_places_count_not_null NOT NULL,
    from_position bigint CONSTRAINT past_places_from_position_not_null NOT NULL,
    until_position bigint CONSTRAINT past_places_until_position_not_null NOT NULL,
    fork bigint CONSTRAINT past_places_fork_not_null NOT NULL
);

ALTER TABLE ledger.past_placements OWNER TO ledger_owner;

CREATE TABLE ledger.placed_by (
    fleet integer NOT NULL,
    kind text NOT NULL,
    subject text NOT NULL,
    number bigint NOT NULL,
    from_position bigint NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY ledger.placed_by ALTER COLUMN fleet SET (n_distinct=10);

ALTER TABLE ledger.placed_by OWNER TO ledger_owner;

CREATE VIEW ledger.placed_by_over_time WITH (security_barrier='true') AS
 SELECT fleet AS fleet_number,
    kind,
    subject,
    number,
    from_position,
    until_position,
    fork
   FROM ( SELECT o.fleet,
            o.kind,
            o.subject,
            o.number,
            o.from_position,
            o.until_position,
            o.fork
           FROM ledger.past_placed_by o
        UNION ALL
         SELECT o.fleet,
            o.kind,
            o.subject,
            o.number,
            o.from_position,
            NULL::bigint,
            NULL::bigint
           FROM ledger.placed_by o) b
  WHERE (fleet = ANY (ARRAY( SELECT f.number
           FROM ledger.seen_fleets f)));

ALTER VIEW ledger.placed_by_over_time OWNER TO ledger_owner;

CREATE TABLE ledger.placements (
    fleet integer NOT NULL,
    kind text NOT NULL,
    subject text NOT NULL,
    cluster text NOT NULL,
    node text DEFAULT ''::text NOT NULL,
    disk text DEFAULT ''::text NOT NULL,
    count bigint NOT NULL,
    from_position bigint DEFAULT 0 NOT NULL,
    CONSTRAINT placements_count_check CHECK ((count > 0))
)
WITH (fillfactor='50');
ALTER TABLE ONLY ledger.placements ALTER COLUMN fleet SET (n_distinct=10);

ALTER TABLE ledger.placements OWNER TO ledger_owner;

CREATE VIEW ledger.placements_over_time WITH (security_barrier='true') AS
 SELECT fleet AS fleet_number,
    kind,
    subject,
    cluster,
    NULLIF(node, ''::text) AS node,
    NULLIF(disk, ''::text) AS disk,
    count,
    from_position,
    until_position,
    fork
   FROM ( SELECT o.fleet,
            o.kind,
            o.subject,
            o.cluster,
            o.node,
            o.disk,
            o.count,
            o.from_position,
            o.until_position,
            o.fork
           FROM ledger.past_placements o
        UNION ALL
         SELECT o.fleet,
            o.kind,
            o.subject,
            o.cluster,
            o.node,
            o.disk,
            o.count,
            o.from_position,
            NULL::bigint,
            NULL::bigint
           FROM ledger.placements o) p
  WHERE (fleet = ANY (ARRAY( SELECT f.number
           FROM ledger.seen_fleets f)));

ALTER VIEW ledger.placements_over_time OWNER TO ledger_owner;

CREATE VIEW ledger_api.placements WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    p.kind,
    p.subject,
    p.cluster,
    NULLIF(p.node, ''::text) AS node,
    NULLIF(p.disk, ''::text) AS disk,
    p.count,
    b.number,
    p.from_position AS since_position
   FROM ((ledger.placements p
     LEFT JOIN ledger.placed_by b ON (((b.fleet = p.fleet) AND (b.subject = p.subject) AND (b.kind = p.kind))))
     JOIN ledger.seen_fleets f ON ((f.number = p.fleet)));

ALTER VIEW ledger_api.placements OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.placements IS 'What is in force now, a place a row.';

COMMENT ON COLUMN ledger_api.placements.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.placements.kind IS 'The kind of decision that placed it.';

COMMENT ON COLUMN ledger_api.placements.subject IS 'Key of what is placed.';

COMMENT ON COLUMN ledger_api.placements.cluster IS 'Where: the cluster.';

COMMENT ON COLUMN ledger_api.placements.node IS 'Where: the node, where that was decided.';

COMMENT ON COLUMN ledger_api.placements.disk IS 'Where: the disk, where that was decided.';

COMMENT ON COLUMN ledger_api.placements.count IS 'How many are there.';

COMMENT ON COLUMN ledger_api.placements.number IS 'The newest decision about the subject that is in force; of a job it is the last round that placed or evicted any of its tasks.';

COMMENT ON COLUMN ledger_api.placements.since_position IS 'Position since which this many are there.';

CREATE FUNCTION ledger_api.placements_as_of(fleet text, "position" bigint) RETURNS SETOF ledger_api.placements
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT placements_as_of.fleet AS fleet,
     p.kind,
     p.subject,
     p.cluster,
     p.node,
     p.disk,
     p.count,
     p.number,
     p.from_position
    FROM (ledger.seen_fleets f
      CROSS JOIN LATERAL ( SELECT kind,
             subject,
                 CASE
                     WHEN (COALESCE(r.count, (0)::bigint) > 0) THEN r.cluster
                     ELSE NULL::text
                 END AS cluster,
                 CASE
                     WHEN (COALESCE(r.count, (0)::bigint) > 0) THEN r.node
                     ELSE NULL::text
                 END AS node,
                 CASE
                     WHEN (COALESCE(r.count, (0)::bigint) > 0) THEN r.disk
                     ELSE NULL::text
                 END AS disk,
             COALESCE(r.count, (0)::bigint) AS count,
                 CASE
                     WHEN (COALESCE(r.count, (0)::bigint) > 0) THEN b.number
                     ELSE NULL::bigint
                 END AS number,
                 CASE
                     WHEN (COALESCE(r.count, (0)::bigint) > 0) THEN r.from_position
                     ELSE NULL::bigint
                 END AS from_position
            FROM (( SELECT t.kind,
                     t.subject,
                     t.cluster,
                     t.node,
                     t.disk,
                     t.count,
                     t.from_position
                    FROM ledger.placements_over_time t
                   WHERE ((t.fleet_number = f.number) AND (t.fork = ANY (ledger.forks_before(placements_as_of."position"))) AND (t.until_position > placements_as_of."position"))
                 UNION ALL
                  SELECT t.kind,
                     t.subject,
                     t.cluster,
                     t.node,
                     t.disk,
                     t.count,
                     t.from_position
                    FROM ledger.placements_over_time t
                   WHERE ((t.fleet_number = f.number) AND (t.fork = ANY (ledger.forks_behind(placements_as_of."position"))) AND (t.from_position <= placements_as_of."position"))
                 UNION ALL
                  SELECT t.kind,
                     t.subject,
                     t.cluster,
                     t.node,
                     t.disk,
                     t.count,
                     t.from_position
                    FROM ledger.placements_over_time t
                   WHERE ((t.fleet_number = f.number) AND (t.fork IS NULL) AND (t.from_position <= placements_as_of."position"))) r
              FULL JOIN ( SELECT t.kind,
                     t.subject,
                     t.number
                    FROM ledger.placed_by_over_time t
                   WHERE ((t.fleet_number = f.number) AND (t.fork = ANY (ledger.forks_before(placements_as_of."position"))) AND (t.until_position > placements_as_of."position"))
                 UNION ALL
                  SELECT t.kind,
                     t.subject,
                     t.number
                    FROM ledger.placed_by_over_time t
                   WHERE ((t.fleet_number = f.number) AND (t.fork = ANY (ledger.forks_behind(placements_as_of."position"))) AND (t.from_position <= placements_as_of."position"))
                 UNION ALL
                  SELECT t.kind,
                     t.subject,
                     t.number
                    FROM ledger.placed_by_over_time t
                   WHERE ((t.fleet_number = f.number) AND (t.fork IS NULL) AND (t.from_position <= placements_as_of."position"))) b USING (kind, subject))
           WHERE (COALESCE(r.count, (0)::bigint) > 0)) p)
   WHERE ((f.name = placements_as_of.fleet) AND ledger.is_decided(placements_as_of.fleet, placements_as_of."position"));
END;

ALTER FUNCTION ledger_api.placements_as_of(fleet text, "position" bigint) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.placements_as_of(fleet text, "position" bigint) IS 'The view placements as of a position: once the event there was decided.';

CREATE FUNCTION ledger_api.placements_at(fleet text, moment timestamp with time zone) RETURNS SETOF ledger_api.placements
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT t.fleet,
     t.kind,
     t.subject,
     t.cluster,
     t.node,
     t.disk,
     t.count,
     t.number,
     t.since_position
    FROM ledger_api.placements_as_of(placements_at.fleet, ( SELECT ledger.decided_at(placements_at.fleet, placements_at.moment) AS decided_at)) t(fleet, kind, subject, cluster, node, disk, count, number, since_position);
END;

ALTER FUNCTION ledger_api.placements_at(fleet text, moment timestamp with time zone) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.placements_at(fleet text, moment timestamp with time zone) IS 'The same as of a time: of the last event by then that is decided.';

CREATE TABLE ledger.ended_proposals (
    fleet integer NOT NULL,
    number bigint NOT NULL,
    state text NOT NULL,
    resolved_by bigint,
    "position" bigint NOT NULL
);

ALTER TABLE ledger.ended_proposals OWNER TO ledger_owner;

CREATE VIEW ledger_api.proposals WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    d.number,
    d."position",
    (d.result ->> 'what'::text) AS kind,
    d.subject,
    (jsonb_array_length((d.result -> 'moves'::text)))::bigint AS moves,
    ((d.result ->> 'bytes'::text))::numeric AS bytes,
    (d.reasons ->> 'measure'::text) AS measure,
    (d.result ->> 'before'::text) AS score_before,
    (d.result ->> 'after'::text) AS score_after,
    (d.reasons ->> 'ended'::text) AS no_more,
        CASE
            WHEN ((d.result -> 'moves'::text) = '[]'::jsonb) THEN 'empty'::text
            ELSE COALESCE(e.state, 'open'::text)
        END AS state,
    e.resolved_by,
    e."position" AS ended_position
   FROM ((ledger.decisions d
     JOIN ledger.seen_fleets f ON ((f.number = d.fleet)))
     LEFT JOIN ledger.ended_proposals e ON (((e.fleet = d.fleet) AND (e.number = d.number))))
  WHERE (d.kind = 'proposal'::text);

ALTER VIEW ledger_api.proposals OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.proposals IS 'A proposal a row: what it would cost, what it is good for, and what became of it. Its number is what an approval names.';

COMMENT ON COLUMN ledger_api.proposals.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.proposals.number IS 'The decision.';

COMMENT ON COLUMN ledger_api.proposals."position" IS 'Position of the event that made it due.';

COMMENT ON COLUMN ledger_api.proposals.kind IS 'What is moved: deployments, disks or repair; or, where nothing is, surplus.';

COMMENT ON COLUMN ledger_api.proposals.subject IS 'What it is about; the name of the fleet is everything.';

COMMENT ON COLUMN ledger_api.proposals.moves IS 'How many moves it has; proposal_moves has them.';

COMMENT ON COLUMN ledger_api.proposals.bytes IS 'How many bytes they move together.';

COMMENT ON COLUMN ledger_api.proposals.measure IS 'What the score is: spread is the mean square deviation over the square of the mean; deficit is how many lack a place on an on-demand node; surplus is how many are on-demand and need not be.';

COMMENT ON COLUMN ledger_api.proposals.score_before IS 'The score as things were, as num/den; null where there is nothing to have one.';

COMMENT ON COLUMN ledger_api.proposals.score_after IS 'The score once all moves are made, as num/den.';

COMMENT ON COLUMN ledger_api.proposals.no_more IS 'Why there are no more moves: no_better_move, max_moves, max_bytes or undefined.';

COMMENT ON COLUMN ledger_api.proposals.state IS 'open; executed; refused, when approved; withdrawn, replaced; or empty, if it has no moves.';

COMMENT ON COLUMN ledger_api.proposals.resolved_by IS 'The decision that carried it out first, replaced it, or refused to carry it out; null where it is open or withdrawn.';

COMMENT ON COLUMN ledger_api.proposals.ended_position IS 'Position of the event with which it was over; null while it is open.';

CREATE FUNCTION ledger_api.proposals_as_of(fleet text, "position" bigint) RETURNS SETOF ledger_api.proposals
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT p.fleet,
     p.number,
     p."position",
     p.kind,
     p.subject,
     p.moves,
     p.bytes,
     p.measure,
     p.score_before,
     p.score_after,
     p.no_more,
         CASE
             WHEN (p.ended_position > proposals_as_of."position") THEN 'open'::text
             ELSE p.state
         END AS state,
         CASE
             WHEN (p.ended_position <= proposals_as_of."position") THEN p.resolved_by
             ELSE NULL::bigint
         END AS "case",
         CASE
             WHEN (p.ended_position <= proposals_as_of."position") THEN p.ended_position
             ELSE NULL::bigint
         END AS "case"
    FROM ledger_api.proposals p
   WHERE ((p.fleet = proposals_as_of.fleet) AND (p."position" <= proposals_as_of."position") AND ledger.is_decided(proposals_as_of.fleet, proposals_as_of."position"));
END;

ALTER FUNCTION ledger_api.proposals_as_of(fleet text, "position" bigint) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.proposals_as_of(fleet text, "position" bigint) IS 'The view proposals as of a position: once the event there was decided.';

CREATE FUNCTION ledger_api.proposals_at(fleet text, moment timestamp with time zone) RETURNS SETOF ledger_api.proposals
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT t.fleet,
     t.number,
     t."position",
     t.kind,
     t.subject,
     t.moves,
     t.bytes,
     t.measure,
     t.score_before,
     t.score_after,
     t.no_more,
     t.state,
     t.resolved_by,
     t.ended_position
    FROM ledger_api.proposals_as_of(proposals_at.fleet, ( SELECT ledger.decided_at(proposals_at.fleet, proposals_at.moment) AS decided_at)) t(fleet, number, "position", kind, subject, moves, bytes, measure, score_before, score_after, no_more, state, resolved_by, ended_position);
END;

ALTER FUNCTION ledger_api.proposals_at(fleet text, moment timestamp with time zone) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.proposals_at(fleet text, moment timestamp with time zone) IS 'The same as of a time: of the last event by then that is decided.';

CREATE TABLE ledger.past_queue_books (
    fleet integer CONSTRAINT queue_books_fleet_not_null NOT NULL,
    queue text CONSTRAINT queue_books_queue_not_null NOT NULL,
    namespace text CONSTRAINT queue_books_namespace_not_null NOT NULL,
    tasks bigint CONSTRAINT queue_books_tasks_not_null NOT NULL,
    cpu numeric CONSTRAINT queue_books_cpu_not_null NOT NULL,
    memory numeric CONSTRAINT queue_books_memory_not_null NOT NULL,
    storage numeric CONSTRAINT queue_books_storage_not_null NOT NULL,
    from_position bigint DEFAULT 0 CONSTRAINT queue_books_from_position_not_null NOT NULL,
    until_position bigint NOT NULL,
    fork bigint NOT NULL
);

ALTER TABLE ledger.past_queue_books OWNER TO ledger_owner;

CREATE TABLE ledger.queue_books (
    fleet integer NOT NULL,
    queue text NOT NULL,
    namespace text NOT NULL,
    tasks bigint NOT NULL,
    cpu numeric NOT NULL,
    memory numeric NOT NULL,
    storage numeric NOT NULL,
    from_position bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY ledger.queue_books ALTER COLUMN fleet SET (n_distinct=10);

ALTER TABLE ledger.queue_books OWNER TO ledger_owner;

CREATE VIEW ledger.queue_books_over_time WITH (security_barrier='true') AS
 SELECT fleet AS fleet_number,
    queue,
    namespace,
    tasks,
    cpu,
    memory,
    storage,
    from_position,
    until_position,
    fork
   FROM ( SELECT o.fleet,
            o.queue,
            o.namespace,
            o.tasks,
            o.cpu,
            o.memory,
            o.storage,
            o.from_position,
            o.until_position,
            o.fork
           FROM ledger.past_queue_books o
        UNION ALL
         SELECT o.fleet,
            o.queue,
            o.namespace,
            o.tasks,
            o.cpu,
            o.memory,
            o.storage,
            o.from_position,
            NULL::bigint,
            NULL::bigint
           FROM ledger.queue_books o) b
  WHERE (fleet = ANY (ARRAY( SELECT f.number
           FROM ledger.seen_fleets f)));

ALTER VIEW ledger.queue_books_over_time OWNER TO ledger_owner;

CREATE VIEW ledger_api.queue_books WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    b.queue,
    b.namespace,
    b.tasks,
    b.cpu,
    b.memory,
    b.storage
   FROM (ledger.queue_books b
     JOIN ledger.seen_fleets f ON ((f.number = b.fleet)));

ALTER VIEW ledger_api.queue_books OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.queue_books IS 'A namespace in a queue a row: what the tasks of its jobs hold there now. One whose tasks hold nothing has no row.';

COMMENT ON COLUMN ledger_api.queue_books.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.queue_books.queue IS 'The queue that the jobs are in now.';

COMMENT ON COLUMN ledger_api.queue_books.namespace IS 'The namespace.';

COMMENT ON COLUMN ledger_api.queue_books.tasks IS 'How many tasks run.';

COMMENT ON COLUMN ledger_api.queue_books.cpu IS 'Milli-cores that they hold.';

COMMENT ON COLUMN ledger_api.queue_books.memory IS 'Bytes of memory that they hold.';

COMMENT ON COLUMN ledger_api.queue_books.storage IS 'Bytes of storage that they hold.';

CREATE FUNCTION ledger_api.queue_books_as_of(fleet text, "position" bigint) RETURNS SETOF ledger_api.queue_books
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT queue_books_as_of.fleet AS fleet,
     r.queue,
     r.namespace,
     r.tasks,
     r.cpu,
     r.memory,
     r.storage
    FROM (ledger.seen_fleets f
      CROSS JOIN LATERAL ( SELECT t.fleet_number,
             t.queue,
             t.namespace,
             t.tasks,
             t.cpu,
             t.memory,
             t.storage,
             t.from_position,
             t.until_position,
             t.fork
            FROM ledger.queue_books_over_time t
           WHERE ((t.fleet_number = f.number) AND (t.fork = ANY (ledger.forks_before(queue_books_as_of."position"))) AND (t.until_position > queue_books_as_of."position"))
         UNION ALL
          SELECT t.fleet_number,
             t.queue,
             t.namespace,
             t.tasks,
             t.cpu,
             t.memory,
             t.storage,
             t.from_position,
             t.until_position,
             t.fork
            FROM ledger.queue_books_over_time t
           WHERE ((t.fleet_number = f.number) AND (t.fork = ANY (ledger.forks_behind(queue_books_as_of."position"))) AND (t.from_position <= queue_books_as_of."position"))
         UNION ALL
          SELECT t.fleet_number,
             t.queue,
             t.namespace,
             t.tasks,
             t.cpu,
             t.memory,
             t.storage,
             t.from_position,
             t.until_position,
             t.fork
            FROM ledger.queue_books_over_time t
           WHERE ((t.fleet_number = f.number) AND (t.fork IS NULL) AND (t.from_position <= queue_books_as_of."position"))) r)
   WHERE ((f.name = queue_books_as_of.fleet) AND ledger.is_decided(queue_books_as_of.fleet, queue_books_as_of."position"));
END;

ALTER FUNCTION ledger_api.queue_books_as_of(fleet text, "position" bigint) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.queue_books_as_of(fleet text, "position" bigint) IS 'The view queue_books as of a position: once the event there was decided.';

CREATE FUNCTION ledger_api.queue_books_at(fleet text, moment timestamp with time zone) RETURNS SETOF ledger_api.queue_books
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT t.fleet,
     t.queue,
     t.namespace,
     t.tasks,
     t.cpu,
     t.memory,
     t.storage
    FROM ledger_api.queue_books_as_of(queue_books_at.fleet, ( SELECT ledger.decided_at(queue_books_at.fleet, queue_books_at.moment) AS decided_at)) t(fleet, queue, namespace, tasks, cpu, memory, storage);
END;

ALTER FUNCTION ledger_api.queue_books_at(fleet text, moment timestamp with time zone) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.queue_books_at(fleet text, moment timestamp with time zone) IS 'The same as of a time: of the last event by then that is decided.';

CREATE TABLE ledger.ended_refusals (
    fleet integer NOT NULL,
    number bigint NOT NULL,
    resolved_by bigint,
    "position" bigint NOT NULL
);

ALTER TABLE ledger.ended_refusals OWNER TO ledger_owner;

CREATE VIEW ledger_api.refusals WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    d.number,
    d."position",
    (d.result ->> 'wanted'::text) AS kind_wanted,
    d.subject,
    (d.result ->> 'reason'::text) AS reason,
    (d.reasons -> 'detail'::text) AS detail,
    (EXISTS ( SELECT
           FROM ledger.open_refusals o
          WHERE ((o.fleet = d.fleet) AND (o.number = d.number)))) AS open,
    e.resolved_by,
    e."position" AS ended_position
   FROM ((ledger.decisions d
     JOIN ledger.seen_fleets f ON ((f.number = d.fleet)))
     LEFT JOIN ledger.ended_refusals e ON (((e.fleet = d.fleet) AND (e.number = d.number))))
  WHERE (d.kind = 'refusal'::text);

ALTER VIEW ledger_api.refusals OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.refusals IS 'Something that could not be served, with the reason; what was in force before stays in force.';

COMMENT ON COLUMN ledger_api.refusals.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.refusals.number IS 'The decision.';

COMMENT ON COLUMN ledger_api.refusals."position" IS 'Position of the event that made it due.';

COMMENT ON COLUMN ledger_api.refusals.kind_wanted IS 'The kind of decision that was asked for.';

COMMENT ON COLUMN ledger_api.refusals.subject IS 'Key of what was asked about.';

COMMENT ON COLUMN ledger_api.refusals.reason IS 'Reason code, such as no_candidate_cluster.';

COMMENT ON COLUMN ledger_api.refusals.detail IS 'The numbers behind the reason; of volumes `expansion_short` and `replica_short` are the bytes that are short.';

COMMENT ON COLUMN ledger_api.refusals.open IS 'Whether it still stands: neither served, nor refused anew, nor wanted no more.';

COMMENT ON COLUMN ledger_api.refusals.resolved_by IS 'The decision that ended it: one that served it, or refused it anew; null where it is open, or ended by an event alone.';

COMMENT ON COLUMN ledger_api.refusals.ended_position IS 'Position of the event with which it ended; null while it is open.';

CREATE FUNCTION ledger_api.refusals_as_of(fleet text, "position" bigint) RETURNS SETOF ledger_api.refusals
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT r.fleet,
     r.number,
     r."position",
     r.kind_wanted,
     r.subject,
     r.reason,
     r.detail,
     (r.open OR COALESCE((r.ended_position > refusals_as_of."position"), false)),
         CASE
             WHEN (r.ended_position <= refusals_as_of."position") THEN r.resolved_by
             ELSE NULL::bigint
         END AS "case",
         CASE
             WHEN (r.ended_position <= refusals_as_of."position") THEN r.ended_position
             ELSE NULL::bigint
         END AS "case"
    FROM ledger_api.refusals r
   WHERE ((r.fleet = refusals_as_of.fleet) AND (r."position" <= refusals_as_of."position") AND ledger.is_decided(refusals_as_of.fleet, refusals_as_of."position"));
END;

ALTER FUNCTION ledger_api.refusals_as_of(fleet text, "position" bigint) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.refusals_as_of(fleet text, "position" bigint) IS 'The view refusals as of a position: once the event there was decided.';

CREATE FUNCTION ledger_api.refusals_at(fleet text, moment timestamp with time zone) RETURNS SETOF ledger_api.refusals
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT t.fleet,
     t.number,
     t."position",
     t.kind_wanted,
     t.subject,
     t.reason,
     t.detail,
     t.open,
     t.resolved_by,
     t.ended_position
    FROM ledger_api.refusals_as_of(refusals_at.fleet, ( SELECT ledger.decided_at(refusals_at.fleet, refusals_at.moment) AS decided_at)) t(fleet, number, "position", kind_wanted, subject, reason, detail, open, resolved_by, ended_position);
END;

ALTER FUNCTION ledger_api.refusals_at(fleet text, moment timestamp with time zone) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.refusals_at(fleet text, moment timestamp with time zone) IS 'The same as of a time: of the last event by then that is decided.';

CREATE TABLE ledger.past_running_tasks (
    fleet integer CONSTRAINT running_tasks_fleet_not_null NOT NULL,
    namespace text CONSTRAINT running_tasks_namespace_not_null NOT NULL,
    job text CONSTRAINT running_tasks_job_not_null NOT NULL,
    task bigint CONSTRAINT running_tasks_task_not_null NOT NULL,
    cluster text CONSTRAINT running_tasks_cluster_not_null NOT NULL,
    node text CONSTRAINT running_tasks_node_not_null NOT NULL,
    number bigint CONSTRAINT running_tasks_number_not_null NOT NULL,
    cpu numeric DEFAULT 0 CONSTRAINT running_tasks_cpu_not_null NOT NULL,
    memory numeric DEFAULT 0 CONSTRAINT running_tasks_memory_not_null NOT NULL,
    storage numeric DEFAULT 0 CONSTRAINT running_tasks_storage_not_null NOT NULL,
    from_position bigint DEFAULT 0 CONSTRAINT running_tasks_from_position_not_null NOT NULL,
    until_position bigint NOT NULL,
    fork bigint NOT NULL
);

ALTER TABLE ledger.past_running_tasks OWNER TO ledger_owner;

CREATE TABLE ledger.running_tasks (
    fleet integer NOT NULL,
    namespace text NOT NULL,
    job text NOT NULL,
    task bigint NOT NULL,
    cluster text NOT NULL,
    node text NOT NULL,
    number bigint NOT NULL,
    cpu numeric DEFAULT 0 NOT NULL,
    memory numeric DEFAULT 0 NOT NULL,
    storage numeric DEFAULT 0 NOT NULL,
    from_position bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY ledger.running_tasks ALTER COLUMN fleet SET (n_distinct=10);

ALTER TABLE ledger.running_tasks OWNER TO ledger_owner;

CREATE VIEW ledger.running_tasks_over_time WITH (security_barrier='true') AS
 SELECT fleet AS fleet_number,
    namespace,
    job,
    task,
    cluster,
    node,
    cpu,
    memory,
    storage,
    number,
    from_position,
    until_position,
    fork
   FROM ( SELECT o.fleet,
            o.namespace,
            o.job,
            o.task,
            o.cluster,
            o.node,
            o.cpu,
            o.memory,
            o.storage,
            o.number,
            o.from_position,
            o.until_position,
            o.fork
           FROM ledger.past_running_tasks o
        UNION ALL
         SELECT o.fleet,
            o.namespace,
            o.job,
            o.task,
            o.cluster,
            o.node,
            o.cpu,
            o.memory,
            o.storage,
            o.number,
            o.from_position,
            NULL::bigint,
            NULL::bigint
           FROM ledger.running_tasks o) t
  WHERE (fleet = ANY (ARRAY( SELECT f.number
           FROM ledger.seen_fleets f)));

ALTER VIEW ledger.running_tasks_over_time OWNER TO ledger_owner;

CREATE VIEW ledger_api.running_tasks WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    b.queue,
    t.namespace,
    t.job,
    t.task,
    t.cluster,
    t.node,
    t.cpu,
    t.memory,
    t.storage,
    t.number,
    t.from_position AS "position"
   FROM ((ledger.running_tasks t
     JOIN ledger.seen_fleets f ON ((f.number = t.fleet)))
     LEFT JOIN ledger.job_books b ON (((b.fleet = t.fleet) AND (b.namespace = t.namespace) AND (b.job = t.job))));

ALTER VIEW ledger_api.running_tasks OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.running_tasks IS 'A task of a job that runs now a row: where, and what it holds. Those that wait, or are finished, have none.';

COMMENT ON COLUMN ledger_api.running_tasks.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.running_tasks.queue IS 'The queue that the job is in now.';

COMMENT ON COLUMN ledger_api.running_tasks.namespace IS 'Namespace of the job.';

COMMENT ON COLUMN ledger_api.running_tasks.job IS 'Name of the job.';

COMMENT ON COLUMN ledger_api.running_tasks.task IS 'Index of the task.';

COMMENT ON COLUMN ledger_api.running_tasks.cluster IS 'Name of the cluster.';

COMMENT ON COLUMN ledger_api.running_tasks.node IS 'Name of the node.';

COMMENT ON COLUMN ledger_api.running_tasks.cpu IS 'Milli-cores that it holds, as it was placed with.';

COMMENT ON COLUMN ledger_api.running_tasks.memory IS 'Bytes of memory that it holds.';

COMMENT ON COLUMN ledger_api.running_tasks.storage IS 'Bytes of storage that it holds.';

COMMENT ON COLUMN ledger_api.running_tasks.number IS 'The decision that placed it.';

COMMENT ON COLUMN ledger_api.running_tasks."position" IS 'Position of the event at which that round closed.';

CREATE FUNCTION ledger_api.running_tasks_as_of(fleet text, "position" bigint) RETURNS SETOF ledger_api.running_tasks
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT running_tasks_as_of.fleet AS fleet,
     b.queue,
     r.namespace,
     r.job,
     r.task,
     r.cluster,
     r.node,
     r.cpu,
     r.memory,
     r.storage,
     r.number,
     r.from_position
    FROM ((ledger.seen_fleets f
      CROSS JOIN LATERAL ( SELECT t.fleet_number,
             t.namespace,
             t.job,
             t.task,
             t.cluster,
             t.node,
             t.cpu,
             t.memory,
             t.storage,
             t.number,
             t.from_position,
             t.until_position,
             t.fork
            FROM ledger.running_tasks_over_time t
           WHERE ((t.fleet_number = f.number) AND (t.fork = ANY (ledger.forks_before(running_tasks_as_of."position"))) AND (t.until_position > running_tasks_as_of."position"))
         UNION ALL
          SELECT t.fleet_number,
             t.namespace,
             t.job,
             t.task,
             t.cluster,
             t.node,
             t.cpu,
             t.memory,
             t.storage,
             t.number,
             t.from_position,
             t.until_position,
             t.fork
            FROM ledger.running_tasks_over_time t
           WHERE ((t.fleet_number = f.number) AND (t.fork = ANY (ledger.forks_behind(running_tasks_as_of."position"))) AND (t.from_position <= running_tasks_as_of."position"))
         UNION ALL
          SELECT t.fleet_number,
             t.namespace,
             t.job,
             t.task,
             t.cluster,
             t.node,
             t.cpu,
             t.memory,
             t.storage,
             t.number,
             t.from_position,
             t.until_position,
             t.fork
            FROM ledger.running_tasks_over_time t
           WHERE ((t.fleet_number = f.number) AND (t.fork IS NULL) AND (t.from_position <= running_tasks_as_of."position"))) r)
      LEFT JOIN ledger_api.job_books_as_of(running_tasks_as_of.fleet, running_tasks_as_of."position") b(fleet, namespace, job, queue, tasks, cpu, memory, storage) ON (((b.namespace = r.namespace) AND (b.job = r.job))))
   WHERE ((f.name = running_tasks_as_of.fleet) AND ledger.is_decided(running_tasks_as_of.fleet, running_tasks_as_of."position"));
END;

ALTER FUNCTION ledger_api.running_tasks_as_of(fleet text, "position" bigint) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.running_tasks_as_of(fleet text, "position" bigint) IS 'The view running_tasks as of a position: once the event there was decided.';

CREATE FUNCTION ledger_api.running_tasks_at(fleet text, moment timestamp with time zone) RETURNS SETOF ledger_api.running_tasks
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT t.fleet,
     t.queue,
     t.namespace,
     t.job,
     t.task,
     t.cluster,
     t.node,
     t.cpu,
     t.memory,
     t.storage,
     t.number,
     t."position"
    FROM ledger_api.running_tasks_as_of(running_tasks_at.fleet, ( SELECT ledger.decided_at(running_tasks_at.fleet, running_tasks_at.moment) AS decided_at)) t(fleet, queue, namespace, job, task, cluster, node, cpu, memory, storage, number, "position");
END;

ALTER FUNCTION ledger_api.running_tasks_at(fleet text, moment timestamp with time zone) OWNER TO ledger_owner;

COMMENT ON FUNCTION ledger_api.running_tasks_at(fleet text, moment timestamp with time zone) IS 'The same as of a time: of the last event by then that is decided.';

CREATE TABLE ledger.admission_answers (
    fleet integer NOT NULL,
    uid text NOT NULL,
    "position" bigint NOT NULL,
    bypassed boolean NOT NULL,
    answer bytea NOT NULL,
    answered_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE ledger.admission_answers OWNER TO ledger_owner;

CREATE TABLE ledger.append_locks (
    fleet integer NOT NULL,
    tree text NOT NULL,
    CONSTRAINT append_locks_tree_check CHECK ((tree = ANY (ARRAY['events'::text, 'decisions'::text])))
);

ALTER TABLE ledger.append_locks OWNER TO ledger_owner;

CREATE TABLE ledger.archived_ranges (
    fleet integer NOT NULL,
    first bigint NOT NULL,
    next bigint NOT NULL,
    partition text NOT NULL,
    archived_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT archived_ranges_check CHECK ((next > first))
);

ALTER TABLE ledger.archived_ranges OWNER TO ledger_owner;

CREATE TABLE ledger.bindings (
    fleet integer NOT NULL,
    number bigint NOT NULL,
    instance bigint NOT NULL,
    namespace text NOT NULL,
    workload text NOT NULL,
    cluster text NOT NULL,
    node text NOT NULL,
    cores jsonb NOT NULL,
    volumes jsonb NOT NULL
);

ALTER TABLE ledger.bindings OWNER TO ledger_owner;

CREATE TABLE ledger.checkpoints (
    fleet integer NOT NULL,
    incarnation integer NOT NULL,
    tree text NOT NULL,
    size bigint NOT NULL,
    root bytea NOT NULL,
    note bytea NOT NULL,
    signed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    again smallint DEFAULT 0 NOT NULL,
    CONSTRAINT checkpoints_tree_check CHECK ((tree = ANY (ARRAY['events'::text, 'decisions'::text, 'both'::text])))
);

ALTER TABLE ledger.checkpoints OWNER TO ledger_owner;

COMMENT ON COLUMN ledger.checkpoints.again IS 'How often this note was recorded before, with fewer signatures of witnesses.';

CREATE TABLE ledger.deployments (
    fleet integer NOT NULL,
    number bigint NOT NULL,
    node text NOT NULL,
    namespace text NOT NULL,
    workload text NOT NULL,
    cluster text NOT NULL,
    instances bigint NOT NULL,
    added bigint NOT NULL,
    removed bigint NOT NULL
);

ALTER TABLE ledger.deployments OWNER TO ledger_owner;

CREATE TABLE ledger.disk_placements (
    fleet integer NOT NULL,
    number bigint NOT NULL,
    replica text NOT NULL,
    volume text NOT NULL,
    cluster text NOT NULL,
    node text NOT NULL,
    disk text NOT NULL,
    size bigint NOT NULL,
    why text NOT NULL,
    rung text NOT NULL,
    node_score text,
    disk_score text,
    overcommitted boolean NOT NULL
);

ALTER TABLE ledger.disk_placements OWNER TO ledger_owner;

CREATE TABLE ledger.divisions (
    fleet integer NOT NULL,
    number bigint NOT NULL,
    cluster text NOT NULL,
    namespace text NOT NULL,
    workload text NOT NULL,
    weight numeric,
    replicas bigint NOT NULL,
    floor bigint,
    residual boolean,
    previous_replicas bigint NOT NULL,
    available bigint,
    left_out boolean DEFAULT false NOT NULL
);

ALTER TABLE ledger.divisions OWNER TO ledger_owner;

CREATE TABLE ledger.ended_incidents (
    fleet integer NOT NULL,
    number bigint NOT NULL,
    "position" bigint NOT NULL
);

ALTER TABLE ledger.ended_incidents OWNER TO ledger_owner;

CREATE TABLE ledger.event_identity (
    fleet integer NOT NULL,
    identity bytea NOT NULL,
    digest bytea NOT NULL,
    "position" bigint NOT NULL
)
PARTITION BY HASH (identity);

ALTER TABLE ledger.event_identity OWNER TO ledger_owner;

CREATE TABLE ledger.event_identity_0 (
    fleet integer CONSTRAINT event_identity_fleet_not_null NOT NULL,
    identity bytea CONSTRAINT event_identity_identity_not_null NOT NULL,
    digest bytea CONSTRAINT event_identity_digest_not_null NOT NULL,
    "position" bigint CONSTRAINT event_identity_position_not_null NOT NULL
);

ALTER TABLE ledger.event_identity_0 OWNER TO ledger_owner;

CREATE TABLE ledger.event_identity_1 (
    fleet integer CONSTRAINT event_identity_fleet_not_null NOT NULL,
    identity bytea CONSTRAINT event_identity_identity_not_null NOT NULL,
    digest bytea CONSTRAINT event_identity_digest_not_null NOT NULL,
    "position" bigint CONSTRAINT event_identity_position_not_null NOT NULL
);

ALTER TABLE ledger.event_identity_1 OWNER TO ledger_owner;

CREATE TABLE ledger.event_identity_2 (
    fleet integer CONSTRAINT event_identity_fleet_not_null NOT NULL,
    identity bytea CONSTRAINT event_identity_identity_not_null NOT NULL,
    digest bytea CONSTRAINT event_identity_digest_not_null NOT NULL,
    "position" bigint CONSTRAINT event_identity_position_not_null NOT NULL
);

ALTER TABLE ledger.event_identity_2 OWNER TO ledger_owner;

CREATE TABLE ledger.event_identity_3 (
    fleet integer CONSTRAINT event_identity_fleet_not_null NOT NULL,
    identity bytea CONSTRAINT event_identity_identity_not_null NOT NULL,
    digest bytea CONSTRAINT event_identity_digest_not_null NOT NULL,
    "position" bigint CONSTRAINT event_identity_position_not_null NOT NULL
);

ALTER TABLE ledger.event_identity_3 OWNER TO ledger_owner;

CREATE TABLE ledger.event_identity_4 (
    fleet integer CONSTRAINT event_identity_fleet_not_null NOT NULL,
    identity bytea CONSTRAINT event_identity_identity_not_null NOT NULL,
    digest bytea CONSTRAINT event_identity_digest_not_null NOT NULL,
    "position" bigint CONSTRAINT event_identity_position_not_null NOT NULL
);

ALTER TABLE ledger.event_identity_4 OWNER TO ledger_owner;

CREATE TABLE ledger.event_identity_5 (
    fleet integer CONSTRAINT event_identity_fleet_not_null NOT NULL,
    identity bytea CONSTRAINT event_identity_identity_not_null NOT NULL,
    digest bytea CONSTRAINT event_identity_digest_not_null NOT NULL,
    "position" bigint CONSTRAINT event_identity_position_not_null NOT NULL
);

ALTER TABLE ledger.event_identity_5 OWNER TO ledger_owner;

CREATE TABLE ledger.event_identity_6 (
    fleet integer CONSTRAINT event_identity_fleet_not_null NOT NULL,
    identity bytea CONSTRAINT event_identity_identity_not_null NOT NULL,
    digest bytea CONSTRAINT event_identity_digest_not_null NOT NULL,
    "position" bigint CONSTRAINT event_identity_position_not_null NOT NULL
);

ALTER TABLE ledger.event_identity_6 OWNER TO ledger_owner;

CREATE TABLE ledger.event_identity_7 (
    fleet integer CONSTRAINT event_identity_fleet_not_null NOT NULL,
    identity bytea CONSTRAINT event_identity_identity_not_null NOT NULL,
    digest bytea CONSTRAINT event_identity_digest_not_null NOT NULL,
    "position" bigint CONSTRAINT event_identity_position_not_null NOT NULL
);

ALTER TABLE ledger.event_identity_7 OWNER TO ledger_owner;

CREATE TABLE ledger.events_000000 (
    fleet integer CONSTRAINT events_fleet_not_null NOT NULL,
    "position" bigint CONSTRAINT events_position_not_null NOT NULL,
    incarnation integer CONSTRAINT events_incarnation_not_null NOT NULL,
    recorded_at_micros bigint CONSTRAINT events_recorded_at_micros_not_null NOT NULL,
    event_time_micros bigint,
    revision smallint CONSTRAINT events_revision_not_null NOT NULL,
    channel text CONSTRAINT events_channel_not_null NOT NULL,
    topic text,
    partition integer,
    coordinate bigint,
    source text CONSTRAINT events_source_not_null NOT NULL,
    id text CONSTRAINT events_id_not_null NOT NULL,
    type text CONSTRAINT events_type_not_null NOT NULL,
    subject text CONSTRAINT events_subject_not_null NOT NULL,
    payload bytea CONSTRAINT events_payload_not_null NOT NULL,
    leaf bytea CONSTRAINT events_leaf_not_null NOT NULL,
    CONSTRAINT events_channel_check CHECK ((channel = ANY (ARRAY['kafka'::text, 'file'::text, 'http'::text, 'ledger'::text]))),
    CONSTRAINT events_position_check CHECK (("position" >= 0))
);

ALTER TABLE ledger.events_000000 OWNER TO ledger_owner;

CREATE TABLE ledger.events_000001 (
    fleet integer CONSTRAINT events_fleet_not_null NOT NULL,
    "position" bigint CONSTRAINT events_position_not_null NOT NULL,
    incarnation integer CONSTRAINT events_incarnation_not_null NOT NULL,
    recorded_at_micros bigint CONSTRAINT events_recorded_at_micros_not_null NOT NULL,
    event_time_micros bigint,
    revision smallint CONSTRAINT events_revision_not_null NOT NULL,
    channel text CONSTRAINT events_channel_not_null NOT NULL,
    topic text,
    partition integer,
    coordinate bigint,
    source text CONSTRAINT events_source_not_null NOT NULL,
    id text CONSTRAINT events_id_not_null NOT NULL,
    type text CONSTRAINT events_type_not_null NOT NULL,
    subject text CONSTRAINT events_subject_not_null NOT NULL,
    payload bytea CONSTRAINT events_payload_not_null NOT NULL,
    leaf bytea CONSTRAINT events_leaf_not_null NOT NULL,
    CONSTRAINT events_channel_check CHECK ((channel = ANY (ARRAY['kafka'::text, 'file'::text, 'http'::text, 'ledger'::text]))),
    CONSTRAINT events_position_check CHECK (("position" >= 0))
);

ALTER TABLE ledger.events_000001 OWNER TO ledger_owner;

CREATE TABLE ledger.events_default (
    fleet integer CONSTRAINT events_fleet_not_null NOT NULL,
    "position" bigint CONSTRAINT events_position_not_null NOT NULL,
    incarnation integer CONSTRAINT events_incarnation_not_null NOT NULL,
    recorded_at_micros bigint CONSTRAINT events_recorded_at_micros_not_null NOT NULL,
    event_time_micros bigint,
    revision smallint CONSTRAINT events_revision_not_null NOT NULL,
    channel text CONSTRAINT events_channel_not_null NOT NULL,
    topic text,
    partition integer,
    coordinate bigint,
    source text CONSTRAINT events_source_not_null NOT NULL,
    id text CONSTRAINT events_id_not_null NOT NULL,
    type text CONSTRAINT events_type_not_null NOT NULL,
    subject text CONSTRAINT events_subject_not_null NOT NULL,
    payload bytea CONSTRAINT events_payload_not_null NOT NULL,
    leaf bytea CONSTRAINT events_leaf_not_null NOT NULL,
    CONSTRAINT events_channel_check CHECK ((channel = ANY (ARRAY['kafka'::text, 'file'::text, 'http'::text, 'ledger'::text]))),
    CONSTRAINT events_position_check CHECK (("position" >= 0))
);

ALTER TABLE ledger.events_default OWNER TO ledger_owner;

CREATE SEQUENCE ledger.fleet_numbers
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE ledger.fleet_numbers OWNER TO ledger_owner;

CREATE TABLE ledger.fleet_stops (
    fleet integer NOT NULL,
    incarnation integer NOT NULL,
    component text NOT NULL,
    reason text NOT NULL,
    detail text NOT NULL,
    stopped_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT fleet_stops_component_check CHECK ((component = ANY (ARRAY['signer'::text, 'consumer'::text, 'publisher'::text, 'decider'::text])))
);

ALTER TABLE ledger.fleet_stops OWNER TO ledger_owner;

CREATE TABLE ledger.geneses (
    fleet integer NOT NULL,
    document bytea NOT NULL,
    digest bytea NOT NULL,
    CONSTRAINT geneses_digest_check CHECK ((octet_length(digest) = 32))
);

ALTER TABLE ledger.geneses OWNER TO ledger_owner;

CREATE TABLE ledger.leases (
    fleet integer NOT NULL,
    duty text NOT NULL,
    epoch bigint NOT NULL,
    holder text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    taken_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT leases_duty_check CHECK ((duty = ANY (ARRAY['decide'::text, 'publish'::text])))
);

ALTER TABLE ledger.leases OWNER TO ledger_owner;

CREATE TABLE ledger.node_books (
    fleet integer NOT NULL,
    cluster text NOT NULL,
    node text NOT NULL,
    declared jsonb,
    placed jsonb NOT NULL,
    seen jsonb NOT NULL,
    tasks jsonb DEFAULT '{}'::jsonb NOT NULL,
    over_committed boolean DEFAULT false NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY ledger.node_books ALTER COLUMN fleet SET (n_distinct=10);

ALTER TABLE ledger.node_books OWNER TO ledger_owner;

CREATE TABLE ledger.partition_epochs (
    topic text NOT NULL,
    partition integer NOT NULL,
    epoch bigint NOT NULL,
    owner text NOT NULL,
    opened_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT partition_epochs_epoch_check CHECK ((epoch >= 1))
);

ALTER TABLE ledger.partition_epochs OWNER TO ledger_owner;

CREATE TABLE ledger.partition_halts (
    number bigint NOT NULL,
    topic text NOT NULL,
    partition integer NOT NULL,
    halted boolean NOT NULL,
    reason text NOT NULL,
    detail text NOT NULL,
    resume_at bigint,
    by text NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    receipt bigint DEFAULT '-1'::integer NOT NULL,
    CONSTRAINT partition_halts_resume_at_check CHECK ((resume_at >= 0))
);

ALTER TABLE ledger.partition_halts OWNER TO ledger_owner;

ALTER TABLE ledger.partition_halts ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME ledger.partition_halts_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE ledger.partition_locks (
    topic text NOT NULL,
    partition integer NOT NULL
);

ALTER TABLE ledger.partition_locks OWNER TO ledger_owner;

CREATE TABLE ledger.partition_pins (
    number bigint NOT NULL,
    fleet text NOT NULL,
    topic text NOT NULL,
    partition integer NOT NULL,
    confirmed_by text NOT NULL,
    pinned_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE ledger.partition_pins OWNER TO ledger_owner;

ALTER TABLE ledger.partition_pins ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME ledger.partition_pins_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE ledger.published (
    fleet integer NOT NULL,
    next bigint NOT NULL,
    epoch bigint NOT NULL,
    published_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE ledger.published OWNER TO ledger_owner;

CREATE TABLE ledger.quarantine (
    "position" bigint NOT NULL,
    address text NOT NULL,
    channel text NOT NULL,
    topic text,
    partition integer,
    coordinate bigint,
    fleet text,
    source text,
    id text,
    type text,
    subject text,
    reason text NOT NULL,
    detail text NOT NULL,
    key bytea,
    value bytea,
    headers bytea NOT NULL,
    digest bytea NOT NULL,
    quarantined_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE ledger.quarantine OWNER TO ledger_owner;

CREATE TABLE ledger.quarantine_outcomes (
    quarantined bigint NOT NULL,
    outcome text NOT NULL,
    released_position bigint,
    by text NOT NULL,
    why text NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT quarantine_outcomes_check CHECK (((outcome = 'released'::text) = (released_position IS NOT NULL))),
    CONSTRAINT quarantine_outcomes_outcome_check CHECK ((outcome = ANY (ARRAY['released'::text, 'discarded'::text])))
);

ALTER TABLE ledger.quarantine_outcomes OWNER TO ledger_owner;

CREATE TABLE ledger.receipts (
    topic text NOT NULL,
    partition integer NOT NULL,
    number bigint NOT NULL,
    epoch bigint NOT NULL,
    first bigint NOT NULL,
    next bigint NOT NULL,
    records bigint NOT NULL,
    appended bigint NOT NULL,
    duplicates bigint NOT NULL,
    quarantined bigint NOT NULL,
    last_timestamp bigint,
    last_digest bytea,
    resumed_by text,
    written_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT receipts_check CHECK ((records = ((appended + duplicates) + quarantined))),
    CONSTRAINT receipts_check1 CHECK (((resumed_by IS NOT NULL) OR ((next > first) AND ((records >= 1) AND (records <= (next - first)))))),
    CONSTRAINT receipts_first_check CHECK ((first >= 0)),
    CONSTRAINT receipts_next_check CHECK ((next >= 0)),
    CONSTRAINT receipts_number_check CHECK ((number >= 0))
);

ALTER TABLE ledger.receipts OWNER TO ledger_owner;

CREATE TABLE ledger.schema_version (
    version_num character varying(32) NOT NULL
);

ALTER TABLE ledger.schema_version OWNER TO ledger_owner;

CREATE TABLE ledger.snapshot_parts (
    snapshot bigint NOT NULL,
    part integer NOT NULL,
    content bytea NOT NULL,
    CONSTRAINT snapshot_parts_part_check CHECK ((part >= 0))
);
ALTER TABLE ONLY ledger.snapshot_parts ALTER COLUMN content SET STORAGE EXTERNAL;

ALTER TABLE ledger.snapshot_parts OWNER TO ledger_owner;

CREATE TABLE ledger.snapshots (
    number bigint NOT NULL,
    fleet integer NOT NULL,
    incarnation integer NOT NULL,
    through bigint NOT NULL,
    decisions bigint NOT NULL,
    engine integer NOT NULL,
    layout integer NOT NULL,
    types bytea NOT NULL,
    digest bytea NOT NULL,
    event_root bytea NOT NULL,
    decision_root bytea NOT NULL,
    bytes bigint NOT NULL,
    stored_bytes bigint NOT NULL,
    written_by text NOT NULL,
    written_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT snapshots_bytes_check CHECK ((bytes > 0)),
    CONSTRAINT snapshots_decision_root_check CHECK ((octet_length(decision_root) = 32)),
    CONSTRAINT snapshots_decisions_check CHECK ((decisions >= 0)),
    CONSTRAINT snapshots_digest_check CHECK ((octet_length(digest) = 32)),
    CONSTRAINT snapshots_event_root_check CHECK ((octet_length(event_root) = 32)),
    CONSTRAINT snapshots_stored_bytes_check CHECK ((stored_bytes > 0)),
    CONSTRAINT snapshots_through_check CHECK ((through >= 0)),
    CONSTRAINT snapshots_types_check CHECK ((octet_length(types) = 32))
);

ALTER TABLE ledger.snapshots OWNER TO ledger_owner;

ALTER TABLE ledger.snapshots ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME ledger.snapshots_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE ledger.source_bindings (
    source text NOT NULL,
    fleet text NOT NULL,
    bound_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE ledger.source_bindings OWNER TO ledger_owner;

CREATE TABLE ledger.standbys (
    fleet integer NOT NULL,
    duty text NOT NULL,
    holder text NOT NULL,
    since timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT standbys_duty_check CHECK ((duty = ANY (ARRAY['decide'::text, 'publish'::text])))
);

ALTER TABLE ledger.standbys OWNER TO ledger_owner;

CREATE TABLE ledger.task_moves (
    fleet integer NOT NULL,
    number bigint NOT NULL,
    task bigint NOT NULL,
    kind text NOT NULL,
    round bigint NOT NULL,
    queue text NOT NULL,
    namespace text NOT NULL,
    job text NOT NULL,
    cluster text NOT NULL,
    node text NOT NULL,
    share text,
    reason text NOT NULL,
    CONSTRAINT task_moves_kind_check CHECK ((kind = ANY (ARRAY['allocation'::text, 'eviction'::text])))
);

ALTER TABLE ledger.task_moves OWNER TO ledger_owner;

CREATE TABLE ledger.tile_hashes (
    fleet integer NOT NULL,
    tree text NOT NULL,
    level smallint NOT NULL,
    number bigint NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT tile_hashes_hash_check CHECK ((octet_length(hash) = 32)),
    CONSTRAINT tile_hashes_level_check CHECK ((level >= 1))
);

ALTER TABLE ledger.tile_hashes OWNER TO ledger_owner;

CREATE VIEW ledger_api.allocations WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    t.number,
    d."position",
    t.round,
    t.queue,
    t.namespace,
    t.job,
    t.task,
    t.cluster,
    t.node,
    t.share,
    t.reason
   FROM ((ledger.task_moves t
     JOIN ledger.decisions d ON (((d.fleet = t.fleet) AND (d.number = t.number))))
     JOIN ledger.seen_fleets f ON ((f.number = t.fleet)))
  WHERE (t.kind = 'allocation'::text);

ALTER VIEW ledger_api.allocations OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.allocations IS 'A task that a round placed a row: where, and by which share it was its turn.';

COMMENT ON COLUMN ledger_api.allocations.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.allocations.number IS 'The decision.';

COMMENT ON COLUMN ledger_api.allocations."position" IS 'Position of the event at which the round closed.';

COMMENT ON COLUMN ledger_api.allocations.round IS 'Which round of the fleet it was, from 1 on.';

COMMENT ON COLUMN ledger_api.allocations.queue IS 'The queue that the job was in.';

COMMENT ON COLUMN ledger_api.allocations.namespace IS 'Namespace of the job.';

COMMENT ON COLUMN ledger_api.allocations.job IS 'Name of the job.';

COMMENT ON COLUMN ledger_api.allocations.task IS 'Index of the task.';

COMMENT ON COLUMN ledger_api.allocations.cluster IS 'Name of the cluster.';

COMMENT ON COLUMN ledger_api.allocations.node IS 'Name of the node.';

COMMENT ON COLUMN ledger_api.allocations.share IS 'Weighted share of the namespace in its queue before the turn, as num/den; null where there was no turn.';

COMMENT ON COLUMN ledger_api.allocations.reason IS 'By which step of the round: allocate, preempt, reclaim or backfill.';

CREATE VIEW ledger_api.bindings WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    b.number,
    b.namespace,
    b.workload,
    b.cluster,
    b.node,
    b.instance,
    b.cores,
    b.volumes
   FROM (ledger.bindings b
     JOIN ledger.seen_fleets f ON ((f.number = b.fleet)));

ALTER VIEW ledger_api.bindings OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.bindings IS 'What one instance of a deployment decision is bound to, for those that are bound to anything.';

COMMENT ON COLUMN ledger_api.bindings.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.bindings.number IS 'The decision.';

COMMENT ON COLUMN ledger_api.bindings.namespace IS 'Namespace of the workload.';

COMMENT ON COLUMN ledger_api.bindings.workload IS 'Name of the workload.';

COMMENT ON COLUMN ledger_api.bindings.cluster IS 'Name of the cluster.';

COMMENT ON COLUMN ledger_api.bindings.node IS 'Name of the node.';

COMMENT ON COLUMN ledger_api.bindings.instance IS 'Number of the instance.';

COMMENT ON COLUMN ledger_api.bindings.cores IS 'Pieces of each core, by the name of the core.';

COMMENT ON COLUMN ledger_api.bindings.volumes IS 'Each volume by its text: the device it lies on and the bytes it has there.';

CREATE VIEW ledger_api.candidates WITH (security_barrier='true') AS
 SELECT fleet,
    number,
    stage,
    candidate,
    rank,
    score,
    chosen,
    why_not
   FROM ( SELECT f.name AS fleet,
            d.number,
            COALESCE((d.result ->> 'wanted'::text), d.kind) AS stage,
            (l.named ->> 0) AS candidate,
            NULL::bigint AS rank,
            NULL::text AS score,
            false AS chosen,
            (l.named ->> 1) AS why_not
           FROM ((ledger.decisions d
             JOIN ledger.seen_fleets f ON ((f.number = d.fleet)))
             CROSS JOIN LATERAL jsonb_array_elements((d.reasons #> '{losers,named}'::text[])) l(named))
        UNION ALL
         SELECT f.name,
            v.number,
            'division'::text,
            v.cluster,
            NULL::bigint,
            NULL::text,
            (v.replicas > 0),
                CASE
                    WHEN (v.replicas = 0) THEN 'no_share'::text
                    ELSE NULL::text
                END AS "case"
           FROM (ledger.divisions v
             JOIN ledger.seen_fleets f ON ((f.number = v.fleet)))
          WHERE (NOT v.left_out)
        UNION ALL
         SELECT f.name,
            v.number,
            'deployment'::text,
            v.node,
            NULL::bigint,
            NULL::text,
            true,
            NULL::text
           FROM (ledger.deployments v
             JOIN ledger.seen_fleets f ON ((f.number = v.fleet)))
          WHERE (v.added > 0)
        UNION ALL
         SELECT f.name,
            d.number,
            (((step.taken ->> 'replica'::text) || ' '::text) || stage.name),
            (weighed.one ->> 'name'::text),
            weighed.rank,
            (weighed.one ->> 'score'::text),
            (weighed.rank = 1),
                CASE
                    WHEN (weighed.rank > 1) THEN 'outranked'::text
                    ELSE NULL::text
                END AS "case"
           FROM ((((ledger.decisions d
             JOIN ledger.seen_fleets f ON ((f.number = d.fleet)))
             CROSS JOIN LATERAL jsonb_array_elements((d.reasons -> 'steps'::text)) step(taken))
             CROSS JOIN LATERAL ( VALUES ('node'::text,(step.taken -> 'nodes'::text)), ('disk'::text,(step.taken -> 'disks'::text))) stage(name, ranking))
             CROSS JOIN LATERAL jsonb_array_elements(stage.ranking) WITH ORDINALITY weighed(one, rank))
          WHERE (d.kind = 'disk_placement'::text)
        UNION ALL
         SELECT f.name,
            d.number,
            ((step.taken ->> 'replica'::text) || ' filter'::text),
            (l.named ->> 0),
            NULL::bigint,
            NULL::text,
            false,
            (l.named ->> 1)
           FROM (((ledger.decisions d
             JOIN ledger.seen_fleets f ON ((f.number = d.fleet)))
             CROSS JOIN LATERAL jsonb_array_elements((d.reasons -> 'steps'::text)) step(taken))
             CROSS JOIN LATERAL jsonb_array_elements((step.taken #> '{losers,named}'::text[])) l(named))
          WHERE (d.kind = 'disk_placement'::text)) u;

ALTER VIEW ledger_api.candidates OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.candidates IS 'A cluster, node or disk that was weighed for a decision a row, winner or loser; of those who were not even weighed the first 16 are named.';

COMMENT ON COLUMN ledger_api.candidates.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.candidates.number IS 'The decision.';

COMMENT ON COLUMN ledger_api.candidates.stage IS 'What was chosen: division chooses clusters, deployment nodes; for a replica its name with node, then disk, or filter for who did not come so far.';

COMMENT ON COLUMN ledger_api.candidates.candidate IS 'Name of the cluster, node or disk.';

COMMENT ON COLUMN ledger_api.candidates.rank IS 'Its place among the candidates, where they were ranked.';

COMMENT ON COLUMN ledger_api.candidates.score IS 'Its score as num/den, where they were scored.';

COMMENT ON COLUMN ledger_api.candidates.chosen IS 'Whether it got anything.';

COMMENT ON COLUMN ledger_api.candidates.why_not IS 'Reason code of a loser, such as unschedulable, with what was compared or who was in the way; no_share where its share of a division came to nothing; null for a winner.';

CREATE VIEW ledger_api.capacity_classes WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    d.number,
    d."position",
    (d.result ->> 'namespace'::text) AS namespace,
    (d.result ->> 'workload'::text) AS workload,
    (d.result ->> 'cluster'::text) AS cluster,
    (d.result ->> 'template_hash'::text) AS template_hash,
    (d.result ->> 'admission_uid'::text) AS admission_uid,
    (d.result ->> 'class'::text) AS class,
    (d.result ->> 'reservation'::text) AS reservation,
    ((d.result ->> 'target'::text))::bigint AS target,
    ((d.result ->> 'on_demand'::text))::bigint AS on_demand
   FROM (ledger.decisions d
     JOIN ledger.seen_fleets f ON ((f.number = d.fleet)))
  WHERE (d.kind = 'capacity_class'::text);

ALTER VIEW ledger_api.capacity_classes OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.capacity_classes IS 'How many instances of a workload belong on on-demand nodes, or to which capacity one pod was admitted, a decision a row.';

COMMENT ON COLUMN ledger_api.capacity_classes.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.capacity_classes.number IS 'The decision.';

COMMENT ON COLUMN ledger_api.capacity_classes."position" IS 'Position of the event that made it due.';

COMMENT ON COLUMN ledger_api.capacity_classes.namespace IS 'Namespace of the workload.';

COMMENT ON COLUMN ledger_api.capacity_classes.workload IS 'Name of the workload.';

COMMENT ON COLUMN ledger_api.capacity_classes.cluster IS 'Name of the cluster.';

COMMENT ON COLUMN ledger_api.capacity_classes.template_hash IS 'Hash of the pod template; null where the target is for all of the workload.';

COMMENT ON COLUMN ledger_api.capacity_classes.admission_uid IS 'The admission that was answered; null where none was.';

COMMENT ON COLUMN ledger_api.capacity_classes.class IS 'od or spot, for an admission.';

COMMENT ON COLUMN ledger_api.capacity_classes.reservation IS 'The reservation that the pod carries, for an admission.';

COMMENT ON COLUMN ledger_api.capacity_classes.target IS 'How many belong on on-demand nodes; null leaves them as they are.';

COMMENT ON COLUMN ledger_api.capacity_classes.on_demand IS 'How many counted as on demand then, for an admission.';

CREATE VIEW ledger_api.checkpoints WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    c.incarnation,
    c.tree,
    c.size,
    encode(c.root, 'hex'::text) AS root,
    convert_from(c.note, 'UTF8'::name) AS note,
    c.signed_at
   FROM (ledger.checkpoints c
     JOIN ledger.seen_fleets f ON ((f.number = c.fleet)));

ALTER VIEW ledger_api.checkpoints OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.checkpoints IS 'What the signer signed of the trees of a fleet, a note a row.';

COMMENT ON COLUMN ledger_api.checkpoints.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.checkpoints.incarnation IS 'Which life of its log.';

COMMENT ON COLUMN ledger_api.checkpoints.tree IS 'events, decisions, or both for the note that binds the two.';

COMMENT ON COLUMN ledger_api.checkpoints.size IS 'How many leaves the tree had.';

COMMENT ON COLUMN ledger_api.checkpoints.root IS 'Its root, in hex (RFC 6962).';

COMMENT ON COLUMN ledger_api.checkpoints.note IS 'The signed note (C2SP), as it is published.';

COMMENT ON COLUMN ledger_api.checkpoints.signed_at IS 'When it was stored.';

CREATE VIEW ledger_api.conservation WITH (security_barrier='true') AS
 WITH placed AS (
         SELECT p.fleet,
            p.subject,
            p.cluster,
            p.node,
            p.count,
            d.result
           FROM ((ledger.placements p
             JOIN ledger.placed_by b ON (((b.fleet = p.fleet) AND (b.subject = p.subject) AND (b.kind = p.kind))))
             JOIN ledger.decisions d ON (((d.fleet = b.fleet) AND (d.number = b.number))))
          WHERE (p.kind = 'deployment'::text)
        ), instances AS (
         SELECT p.fleet,
            p.cluster,
            p.node,
            p.count,
            p.result,
            ((p.result -> 'terms'::text) -> ((alike."row" ->> 1))::integer) AS terms,
            (number."row")::bigint AS instance,
            row_number() OVER (PARTITION BY p.fleet, p.subject, p.node ORDER BY (number."row")::bigint) AS place
           FROM ((placed p
             CROSS JOIN LATERAL jsonb_array_elements((p.result -> 'instances'::text)) alike("row"))
             CROSS JOIN LATERAL jsonb_array_elements_text((alike."row" -> 2)) number("row"))
          WHERE ((alike."row" ->> 0) = p.node)
        ), in_force AS (
         SELECT i.fleet,
            i.cluster,
            i.node,
            i.terms,
            bound."row" AS bound
           FROM (instances i
             LEFT JOIN LATERAL jsonb_array_elements((i.result -> 'bindings'::text)) bound("row") ON ((((bound."row" ->> 0))::bigint = i.instance)))
          WHERE (i.place <= i.count)
        ), requests AS (
         SELECT d.fleet,
            d.number,
            (d.result -> 'request'::text) AS request
           FROM (( SELECT DISTINCT running_tasks.fleet,
                    running_tasks.number
                   FROM ledger.running_tasks) t
             JOIN ledger.decisions d ON (((d.fleet = t.fleet) AND (d.number = t.number))))
        ), tasks AS (
         SELECT t.fleet,
            t.namespace,
            t.job,
            t.cluster,
            t.node,
            count(*) AS tasks,
            sum(((r.request ->> 'cpu'::text))::numeric) AS cpu,
            sum(((r.request ->> 'memory'::text))::numeric) AS memory,
            sum(((r.request ->> 'storage'::text))::numeric) AS storage
           FROM (ledger.running_tasks t
             JOIN requests r ON (((r.fleet = t.fleet) AND (r.number = t.number))))
          GROUP BY t.fleet, t.namespace, t.job, t.cluster, t.node
        ), task_amounts AS (
         SELECT t.fleet,
            t.cluster,
            t.node,
            a.amount,
            sum(a.held) AS held
           FROM (tasks t
             CROSS JOIN LATERAL ( VALUES ('pods'::text,t.tasks), ('cpu'::text,t.cpu), ('memory'::text,t.memory), ('storage'::text,t.storage)) a(amount, held))
          GROUP BY t.fleet, t.cluster, t.node, a.amount
        ), amounts AS (
         SELECT placed.fleet,
            placed.cluster,
            placed.node,
            'pods'::text AS amount,
            (placed.count)::numeric AS held
           FROM placed
        UNION ALL
         SELECT i.fleet,
            i.cluster,
            i.node,
            a.amount,
            a.held
           FROM (in_force i
             CROSS JOIN LATERAL ( VALUES ('cpu'::text,
                        CASE
                            WHEN ((i.terms ->> 'cpu_bind'::text))::boolean THEN ((i.terms ->> 'cpu'::text))::numeric
                            ELSE NULL::numeric
                        END), ('memory'::text,((i.terms ->> 'memory'::text))::numeric), ('storage'::text,((i.terms ->> 'storage'::text))::numeric), (('group '::text || NULLIF((i.bound ->> 2), ''::text)),((i.terms ->> 'memory'::text))::numeric)) a(amount, held))
          WHERE (a.amount IS NOT NULL)
        UNION ALL
         SELECT i.fleet,
            i.cluster,
            i.node,
            ('core '::text || (core."row" ->> 0)),
            ((core."row" ->> 1))::numeric AS "numeric"
           FROM (in_force i
             CROSS JOIN LATERAL jsonb_array_elements((i.bound -> 1)) core("row"))
        UNION ALL
         SELECT i.fleet,
            i.cluster,
            i.node,
            ('device '::text || (volume."row" ->> 1)),
            ((volume."row" ->> 2))::numeric AS "numeric"
           FROM (in_force i
             CROSS JOIN LATERAL jsonb_array_elements((i.bound -> 3)) volume("row"))
        UNION ALL
         SELECT task_amounts.fleet,
            task_amounts.cluster,
            task_amounts.node,
            task_amounts.amount,
            task_amounts.held
           FROM task_amounts
        ), on_nodes AS (
         SELECT fleet,
            cluster,
            node,
            amount,
            COALESCE(r.held, (0)::numeric) AS recorded,
            COALESCE(k.held, (0)::numeric) AS kept
           FROM (( SELECT amounts.fleet,
                    amounts.cluster,
                    amounts.node,
                    amounts.amount,
                    sum(amounts.held) AS held
                   FROM amounts
                  GROUP BY amounts.fleet, amounts.cluster, amounts.node, amounts.amount) r
             FULL JOIN ( SELECT b.fleet,
                    b.cluster,
                    b.node,
                    a.key AS amount,
                    (a.value)::numeric AS held
                   FROM (ledger.node_books b
                     CROSS JOIN LATERAL jsonb_each_text(b.placed) a(key, value))) k USING (fleet, cluster, node, amount))
        ), of_tasks AS (
         SELECT fleet,
            cluster,
            node,
            amount,
            COALESCE(r.held, (0)::numeric) AS recorded,
            COALESCE(k.held, (0)::numeric) AS kept
           FROM (task_amounts r
             FULL JOIN ( SELECT b.fleet,
                    b.cluster,
                    b.node,
                    a.key AS amount,
                    (a.value)::numeric AS held
                   FROM (ledger.node_books b
                     CROSS JOIN LATERAL jsonb_each_text(b.tasks) a(key, value))) k USING (fleet, cluster, node, amount))
        ), task_places AS (
         SELECT fleet,
            cluster,
            node,
            subject,
            COALESCE(r.tasks, (0)::bigint) AS recorded,
            COALESCE(k.count, (0)::bigint) AS kept
           FROM (( SELECT tasks.fleet,
                    tasks.cluster,
                    tasks.node,
                    ((tasks.namespace || '/'::text) || tasks.job) AS subject,
                    tasks.tasks
                   FROM tasks) r
             FULL JOIN ( SELECT p.fleet,
                    p.cluster,
                    p.node,
                    p.subject,
                    p.count
                   FROM (ledger.placements p
                     JOIN ledger.placed_by b ON (((b.fleet = p.fleet) AND (b.subject = p.subject) AND (b.kind = p.kind))))
                  WHERE (p.kind = 'allocation'::text)) k USING (fleet, cluster, node, subject))
        ), of_jobs AS (
         SELECT fleet,
            ((namespace || '/'::text) || job) AS subject,
            a.amount,
            COALESCE(a.recorded, (0)::numeric) AS recorded,
            COALESCE(a.kept, (0)::numeric) AS kept
           FROM ((( SELECT tasks.fleet,
                    tasks.namespace,
                    tasks.job,
                    sum(tasks.tasks) AS tasks,
                    sum(tasks.cpu) AS cpu,
                    sum(tasks.memory) AS memory,
                    sum(tasks.storage) AS storage
                   FROM tasks
                  GROUP BY tasks.fleet, tasks.namespace, tasks.job) r
             FULL JOIN ledger.job_books k USING (fleet, namespace, job))
             CROSS JOIN LATERAL ( VALUES ('tasks'::text,r.tasks,k.tasks), ('cpu'::text,r.cpu,k.cpu), ('memory'::text,r.memory,k.memory), ('storage'::text,r.storage,k.storage)) a(amount, recorded, kept))
        ), of_queues AS (
         SELECT fleet,
            ((queue || '/'::text) || namespace) AS subject,
            a.amount,
            COALESCE(a.recorded, (0)::numeric) AS recorded,
            COALESCE(a.kept, (0)::numeric) AS kept
           FROM ((( SELECT t.fleet,
                    b.queue,
                    t.namespace,
                    sum(t.tasks) AS tasks,
                    sum(t.cpu) AS cpu,
                    sum(t.memory) AS memory,
                    sum(t.storage) AS storage
                   FROM (tasks t
                     JOIN ledger.job_books b USING (fleet, namespace, job))
                  GROUP BY t.fleet, b.queue, t.namespace) r
             FULL JOIN ledger.queue_books k USING (fleet, queue, namespace))
             CROSS JOIN LATERAL ( VALUES ('tasks'::text,r.tasks,k.tasks), ('cpu'::text,r.cpu,k.cpu), ('memory'::text,r.memory,k.memory), ('storage'::text,r.storage,k.storage)) a(amount, recorded, kept))
        ), on_disks AS (
         SELECT fleet,
            cluster,
            node,
            disk,
            COALESCE(r.held, (0)::numeric) AS recorded,
            COALESCE(k.scheduled, (0)::numeric) AS kept
           FROM (( SELECT p.fleet,
                    p.cluster,
                    p.node,
                    p.disk,
                    sum(((p.count)::numeric * ((d.result ->> 'size'::text))::numeric)) AS held
                   FROM ((ledger.placements p
                     JOIN ledger.placed_by b ON (((b.fleet = p.fleet) AND (b.subject = p.subject) AND (b.kind = p.kind))))
                     JOIN ledger.decisions d ON (((d.fleet = b.fleet) AND (d.number = b.number))))
                  WHERE (p.kind = 'disk_placement'::text)
                  GROUP BY p.fleet, p.cluster, p.node, p.disk) r
             FULL JOIN ledger.disk_books k USING (fleet, cluster, node, disk))
        ), of_divisions AS (
         SELECT fleet,
            cluster,
            subject,
            COALESCE(r.replicas, (0)::bigint) AS recorded,
            COALESCE(k.count, (0)::bigint) AS kept
           FROM (( SELECT v.fleet,
                    ((v.namespace || '/'::text) || v.workload) AS subject,
                    v.cluster,
                    v.number,
                    v.replicas
                   FROM ledger.divisions v
                  WHERE ((v.replicas > 0) AND ((v.fleet, v.number) IN ( SELECT b.fleet,
                            b.number
                           FROM ledger.placed_by b
                          WHERE (b.kind = 'division'::text))))) r
             FULL JOIN ( SELECT p.fleet,
                    p.subject,
                    p.cluster,
                    b.number,
                    p.count
                   FROM (ledger.placements p
                     LEFT JOIN ledger.placed_by b ON (((b.fleet = p.fleet) AND (b.subject = p.subject) AND (b.kind = p.kind))))
                  WHERE (p.kind = 'division'::text)) k USING (fleet, subject, cluster, number))
        ), short AS (
         SELECT b.fleet,
            b.cluster,
            b.node,
            a.amount,
            b.over_committed,
            ((COALESCE(((b.declared ->> a.amount))::numeric, (
                CASE
                    WHEN (a.amount <> 'pods'::text) THEN 0
                    ELSE NULL::integer
                END)::numeric) - COALESCE(((b.placed ->> a.amount))::numeric, (0)::numeric)) - COALESCE(((b.seen ->> a.amount))::numeric, (0)::numeric)) AS free
           FROM (ledger.node_books b
             CROSS JOIN LATERAL ( SELECT jsonb_object_keys(b.declared) AS amount
                UNION
                 SELECT jsonb_object_keys(b.placed) AS jsonb_object_keys
                UNION
                 SELECT jsonb_object_keys(b.seen) AS jsonb_object_keys) a)
          WHERE (b.declared IS NOT NULL)
        ), differences AS (
         SELECT 'node_held'::text AS finding,
            on_nodes.fleet,
            on_nodes.cluster,
            on_nodes.node,
            NULL::text AS subject,
            on_nodes.amount,
            on_nodes.recorded,
            on_nodes.kept
           FROM on_nodes
        UNION ALL
         SELECT 'tasks_held'::text,
            of_tasks.fleet,
            of_tasks.cluster,
            of_tasks.node,
            NULL::text,
            of_tasks.amount,
            of_tasks.recorded,
            of_tasks.kept
           FROM of_tasks
        UNION ALL
         SELECT 'tasks_placed'::text,
            task_places.fleet,
            task_places.cluster,
            task_places.node,
            task_places.subject,
            'tasks'::text,
            task_places.recorded,
            task_places.kept
           FROM task_places
        UNION ALL
         SELECT 'job_used'::text,
            of_jobs.fleet,
            NULL::text,
            NULL::text,
            of_jobs.subject,
            of_jobs.amount,
            of_jobs.recorded,
            of_jobs.kept
           FROM of_jobs
        UNION ALL
         SELECT 'queue_used'::text,
            of_queues.fleet,
            NULL::text,
            NULL::text,
            of_queues.subject,
            of_queues.amount,
            of_queues.recorded,
            of_queues.kept
           FROM of_queues
        UNION ALL
         SELECT 'disk_scheduled'::text,
            on_disks.fleet,
            on_disks.cluster,
            on_disks.node,
            on_disks.disk,
            'scheduled'::text,
            on_disks.recorded,
            on_disks.kept
           FROM on_disks
        UNION ALL
         SELECT 'replicas_divided'::text,
            of_divisions.fleet,
            of_divisions.cluster,
            NULL::text,
            of_divisions.subject,
            'replicas'::text,
            of_divisions.recorded,
            of_divisions.kept
           FROM of_divisions
        UNION ALL
         SELECT 'free_below_zero'::text,
            short.fleet,
            short.cluster,
            short.node,
            NULL::text,
            short.amount,
            short.free,
            0
           FROM short
          WHERE ((short.free < (0)::numeric) AND (NOT short.over_committed))
        UNION ALL
         SELECT 'over_committed'::text,
            b.fleet,
            b.cluster,
            b.node,
            NULL::text,
            NULL::text,
            0,
            1
           FROM ledger.node_books b
          WHERE (b.over_committed AND (NOT (EXISTS ( SELECT
                   FROM short s
                  WHERE ((s.fleet = b.fleet) AND (s.cluster = b.cluster) AND (s.node = b.node) AND (s.free < (0)::numeric))))))
        )
 SELECT f.name AS fleet,
    x.cluster,
    x.node,
    x.amount,
    x.recorded,
    x.kept,
    x.finding,
    x.subject
   FROM (differences x
     JOIN ledger.seen_fleets f ON ((f.number = x.fleet)))
  WHERE (x.recorded <> x.kept);

ALTER VIEW ledger_api.conservation OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.conservation IS 'Where the book does not add up, an amount a row: it is empty, or something is wrong.';

COMMENT ON COLUMN ledger_api.conservation.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.conservation.cluster IS 'Name of the cluster; null where it is a job or a queue that differs.';

COMMENT ON COLUMN ledger_api.conservation.node IS 'Name of the node; null where it is not of one.';

COMMENT ON COLUMN ledger_api.conservation.amount IS 'Which amount, as node_books names it, or tasks, replicas, scheduled bytes; null where it is none.';

COMMENT ON COLUMN ledger_api.conservation.recorded IS 'The sum over what the decisions in force record; what is free where that is below zero.';

COMMENT ON COLUMN ledger_api.conservation.kept IS 'What is kept as held: by the decider''s book, or in placements.';

COMMENT ON COLUMN ledger_api.conservation.finding IS 'What does not add up, by its name in docs/errors.md.';

COMMENT ON COLUMN ledger_api.conservation.subject IS 'The job, the queue/namespace, the workload or the disk; null where it is a node.';

CREATE VIEW ledger_api.deployments WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    v.number,
    d."position",
    v.namespace,
    v.workload,
    v.cluster,
    v.node,
    v.instances,
    v.added,
    v.removed,
    (d.reasons ->> 'strategy'::text) AS strategy,
    d.branch
   FROM ((ledger.deployments v
     JOIN ledger.decisions d ON (((d.fleet = v.fleet) AND (d.number = v.number))))
     JOIN ledger.seen_fleets f ON ((f.number = v.fleet)));

ALTER VIEW ledger_api.deployments OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.deployments IS 'A node in a deployment decision a row: how many instances of the workload it has, and what changed.';

COMMENT ON COLUMN ledger_api.deployments.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.deployments.number IS 'The decision.';

COMMENT ON COLUMN ledger_api.deployments."position" IS 'Position of the event that made it due.';

COMMENT ON COLUMN ledger_api.deployments.namespace IS 'Namespace of the workload.';

COMMENT ON COLUMN ledger_api.deployments.workload IS 'Name of the workload.';

COMMENT ON COLUMN ledger_api.deployments.cluster IS 'Name of the cluster.';

COMMENT ON COLUMN ledger_api.deployments.node IS 'Name of the node.';

COMMENT ON COLUMN ledger_api.deployments.instances IS 'How many instances are there after the decision.';

COMMENT ON COLUMN ledger_api.deployments.added IS 'How many came since the decision before.';

COMMENT ON COLUMN ledger_api.deployments.removed IS 'How many left or were lost since the decision before.';

COMMENT ON COLUMN ledger_api.deployments.strategy IS 'AUTO, FILL, EACH, GLOBAL or DRAINED; empty where the workload is not deployed any more.';

COMMENT ON COLUMN ledger_api.deployments.branch IS 'What was done first: given_up, fresh, edited, replaced, reclaimed or placed; keep where nothing was.';

CREATE VIEW ledger_api.disk_placements WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    p.number,
    d."position",
    p.volume,
    p.replica,
    p.cluster,
    p.node,
    p.disk,
    p.size,
    p.why,
    p.rung,
    p.node_score,
    p.disk_score,
    p.overcommitted
   FROM ((ledger.disk_placements p
     JOIN ledger.decisions d ON (((d.fleet = p.fleet) AND (d.number = p.number))))
     JOIN ledger.seen_fleets f ON ((f.number = p.fleet)));

ALTER VIEW ledger_api.disk_placements OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.disk_placements IS 'A replica that a disk decision placed a row: where, and how the disk was found.';

COMMENT ON COLUMN ledger_api.disk_placements.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.disk_placements.number IS 'The decision.';

COMMENT ON COLUMN ledger_api.disk_placements."position" IS 'Position of the event that made it due.';

COMMENT ON COLUMN ledger_api.disk_placements.volume IS 'Name of the volume.';

COMMENT ON COLUMN ledger_api.disk_placements.replica IS 'Name of the replica.';

COMMENT ON COLUMN ledger_api.disk_placements.cluster IS 'Cluster of the disk; empty where the fleet does not name it.';

COMMENT ON COLUMN ledger_api.disk_placements.node IS 'Node of the disk.';

COMMENT ON COLUMN ledger_api.disk_placements.disk IS 'The disk.';

COMMENT ON COLUMN ledger_api.disk_placements.size IS 'Bytes of the replica.';

COMMENT ON COLUMN ledger_api.disk_placements.why IS 'missing; or waited, evicting: what was the matter with the replica that it replaces; or proposal: an approved one moved it.';

COMMENT ON COLUMN ledger_api.disk_placements.rung IS 'The rung of the ladder of anti-affinity on which a disk was found; or proposal.';

COMMENT ON COLUMN ledger_api.disk_placements.node_score IS 'Balance of all nodes with the replica on this one, as num/den; null where nothing was scored.';

COMMENT ON COLUMN ledger_api.disk_placements.disk_score IS 'Balance of the disks with the replica on this one, as num/den; null where nothing was scored.';

COMMENT ON COLUMN ledger_api.disk_placements.overcommitted IS 'Whether no disk had room for it, and it was placed all the same.';

CREATE VIEW ledger_api.divisions WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    v.number,
    d."position",
    v.namespace,
    v.workload,
    v.cluster,
    v.weight,
    v.replicas,
    v.floor,
    v.residual,
    v.previous_replicas,
    d.branch,
    (d.reasons ->> 'strategy'::text) AS strategy,
    v.available,
    v.left_out
   FROM ((ledger.divisions v
     JOIN ledger.decisions d ON (((d.fleet = v.fleet) AND (d.number = v.number))))
     JOIN ledger.seen_fleets f ON ((f.number = v.fleet)));

ALTER VIEW ledger_api.divisions OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.divisions IS 'A cluster in a division decision a row: how many replicas it got, and how that number came about; also one that lost what it had.';

COMMENT ON COLUMN ledger_api.divisions.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.divisions.number IS 'The decision.';

COMMENT ON COLUMN ledger_api.divisions."position" IS 'Position of the event that made it due.';

COMMENT ON COLUMN ledger_api.divisions.namespace IS 'Namespace of the workload.';

COMMENT ON COLUMN ledger_api.divisions.workload IS 'Name of the workload.';

COMMENT ON COLUMN ledger_api.divisions.cluster IS 'Name of the cluster.';

COMMENT ON COLUMN ledger_api.divisions.weight IS 'The weight it was divided by: as wished, or its room; null where it took no part or got a copy.';

COMMENT ON COLUMN ledger_api.divisions.replicas IS 'How many replicas it got.';

COMMENT ON COLUMN ledger_api.divisions.floor IS 'The whole part of its weighted share; null but for static weight.';

COMMENT ON COLUMN ledger_api.divisions.residual IS 'Whether it got one of the replicas that the whole parts left over; null but for static weight.';

COMMENT ON COLUMN ledger_api.divisions.previous_replicas IS 'What it had before this decision, in this life of its workload.';

COMMENT ON COLUMN ledger_api.divisions.branch IS 'Which rule applied.';

COMMENT ON COLUMN ledger_api.divisions.strategy IS 'static, webster, dynamic, aggregated or duplicated.';

COMMENT ON COLUMN ledger_api.divisions.available IS 'How many more it could take; null where that was not asked.';

COMMENT ON COLUMN ledger_api.divisions.left_out IS 'True where it had replicas and takes no part any more: it is not ready, removed, not wished for or not selected.';

CREATE VIEW ledger_api.evictions WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    t.number,
    d."position",
    t.round,
    t.queue,
    t.namespace,
    t.job,
    t.task,
    t.cluster,
    t.node,
    t.share,
    t.reason,
    ( SELECT (taker.one ->> 'job'::text)
           FROM jsonb_array_elements((d.reasons -> 'takers'::text)) WITH ORDINALITY taker(one, place)
          WHERE (((((d.result -> 'places'::text) -> ((taker.place)::integer - 1)) ->> 0))::bigint = t.task)
         LIMIT 1) AS taker
   FROM ((ledger.task_moves t
     JOIN ledger.decisions d ON (((d.fleet = t.fleet) AND (d.number = t.number))))
     JOIN ledger.seen_fleets f ON ((f.number = t.fleet)))
  WHERE (t.kind = 'eviction'::text);

ALTER VIEW ledger_api.evictions OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.evictions IS 'A task that a round evicted a row: from where, and for whom.';

COMMENT ON COLUMN ledger_api.evictions.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.evictions.number IS 'The decision.';

COMMENT ON COLUMN ledger_api.evictions."position" IS 'Position of the event at which the round closed.';

COMMENT ON COLUMN ledger_api.evictions.round IS 'Which round of the fleet it was, from 1 on.';

COMMENT ON COLUMN ledger_api.evictions.queue IS 'The queue that the job was in.';

COMMENT ON COLUMN ledger_api.evictions.namespace IS 'Namespace of the job.';

COMMENT ON COLUMN ledger_api.evictions.job IS 'Name of the job.';

COMMENT ON COLUMN ledger_api.evictions.task IS 'Index of the task.';

COMMENT ON COLUMN ledger_api.evictions.cluster IS 'Name of the cluster.';

COMMENT ON COLUMN ledger_api.evictions.node IS 'Name of the node.';

COMMENT ON COLUMN ledger_api.evictions.share IS 'Null: nobody has a turn at being evicted.';

COMMENT ON COLUMN ledger_api.evictions.reason IS 'For another job of its queue (preempt) or for another queue (reclaim).';

COMMENT ON COLUMN ledger_api.evictions.taker IS 'The job that the room was made for, as namespace/job.';

CREATE VIEW ledger_api.incidents WITH (security_barrier='true') AS
 SELECT "position",
    recorded_at,
    address,
    kind,
    detail,
    fleet,
    number,
    open,
    ended_position
   FROM ( SELECT e."position",
            ledger.moment(e.recorded_at_micros) AS recorded_at,
            e.subject AS address,
            (((convert_from(e.payload, 'UTF8'::name))::jsonb -> 'data'::text) ->> 'kind'::text) AS kind,
            (((convert_from(e.payload, 'UTF8'::name))::jsonb -> 'data'::text) ->> 'detail'::text) AS detail,
            f.name AS fleet,
            NULL::bigint AS number,
            NULL::boolean AS open,
            NULL::bigint AS ended_position
           FROM (ledger.events e
             JOIN ledger.seen_fleets f ON ((f.number = e.fleet)))
          WHERE ((f.name = '_ledger'::text) AND (e.type = 'ledger.incident.incident.recorded.v1'::text))
        UNION ALL
         SELECT d."position",
            ( SELECT ledger.moment(e.recorded_at_micros) AS moment
                   FROM ledger.events e
                  WHERE ((e.fleet = d.fleet) AND (e."position" = d."position"))) AS moment,
            d.subject,
            (d.result ->> 'what'::text),
            concat_ws(': '::text,
                CASE
                    WHEN ((d.result ->> 'node'::text) <> d.subject) THEN (d.result ->> 'node'::text)
                    ELSE NULL::text
                END, ( SELECT string_agg(((n.key || ' '::text) || n.value), ', '::text ORDER BY (n.key COLLATE "C")) AS string_agg
                   FROM jsonb_each_text((d.reasons -> 'numbers'::text)) n(key, value))) AS concat_ws,
            f.name,
            d.number,
            (EXISTS ( SELECT
                   FROM ledger.open_incidents o
                  WHERE ((o.fleet = d.fleet) AND (o.number = d.number)))) AS "exists",
            ( SELECT n."position"
                   FROM ledger.ended_incidents n
                  WHERE ((n.fleet = d.fleet) AND (n.number = d.number))) AS "position"
           FROM (ledger.decisions d
             JOIN ledger.seen_fleets f ON ((f.number = d.fleet)))
          WHERE (d.kind = 'incident'::text)) u;

ALTER VIEW ledger_api.incidents OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.incidents IS 'Something that a person should know a row: a partition that stopped, a topic made anew, what contradicts the book of a fleet.';

COMMENT ON COLUMN ledger_api.incidents."position" IS 'Position in the log of the fleet.';

COMMENT ON COLUMN ledger_api.incidents.recorded_at IS 'When it was recorded; null for a decision whose event was archived.';

COMMENT ON COLUMN ledger_api.incidents.address IS 'What it concerns: a topic/partition, a cluster/node, a namespace/workload@cluster, a namespace/quota, the fleet.';

COMMENT ON COLUMN ledger_api.incidents.kind IS 'Kind of incident, one of docs/errors.md.';

COMMENT ON COLUMN ledger_api.incidents.detail IS 'What happened, in words.';

COMMENT ON COLUMN ledger_api.incidents.fleet IS 'Whose log says so: _ledger where it is none of a fleet.';

COMMENT ON COLUMN ledger_api.incidents.number IS 'The decision that recorded it; null where an event did.';

COMMENT ON COLUMN ledger_api.incidents.open IS 'Whether it is still so; false of what happened once. Null of partitions and logs, whose present partitions and stops tell.';

COMMENT ON COLUMN ledger_api.incidents.ended_position IS 'Position of the event with which it was over; null while it is open, and of what happened once.';

CREATE VIEW ledger_api.leases WITH (security_barrier='true') AS
 SELECT fleet,
    duty,
    holder,
    standby,
    since
   FROM ( SELECT f.name AS fleet,
            l.duty,
            l.holder,
            false AS standby,
            l.taken_at AS since
           FROM (ledger.leases l
             JOIN ledger.seen_fleets f ON ((f.number = l.fleet)))
          WHERE (l.expires_at > clock_timestamp())
        UNION ALL
         SELECT f.name AS fleet,
            s.duty,
            s.holder,
            true AS standby,
            s.since
           FROM (ledger.standbys s
             JOIN ledger.seen_fleets f ON ((f.number = s.fleet)))
          WHERE ((s.expires_at > clock_timestamp()) AND (NOT (EXISTS ( SELECT
                   FROM ledger.leases l
                  WHERE ((l.fleet = s.fleet) AND (l.duty = s.duty) AND (l.holder = s.holder) AND (l.expires_at > clock_timestamp()))))))) u;

ALTER VIEW ledger_api.leases OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.leases IS 'Who decides or publishes for a fleet just now, and which deciders would take over, a process a row.';

COMMENT ON COLUMN ledger_api.leases.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.leases.duty IS 'decide or publish.';

COMMENT ON COLUMN ledger_api.leases.holder IS 'The process: host, number, and a word that no other has.';

COMMENT ON COLUMN ledger_api.leases.standby IS 'False for the one that does it, true for a decider that waits to take over.';

COMMENT ON COLUMN ledger_api.leases.since IS 'Since when it has held the lease, or stood by, without a pause.';

CREATE VIEW ledger_api.movements WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    d.number,
    d."position",
    ( SELECT ledger.moment(e.recorded_at_micros) AS moment
           FROM ledger.events e
          WHERE ((e.fleet = d.fleet) AND (e."position" = d."position"))) AS recorded_at,
    d.kind,
    d.subject,
    m.thing,
    m.cluster,
    m.node,
    m.disk,
    m.came,
    m.went,
    COALESCE(m.why, d.branch) AS why
   FROM ((ledger.decisions d
     JOIN ledger.seen_fleets f ON ((f.number = d.fleet)))
     CROSS JOIN LATERAL ( SELECT NULL::text AS thing,
            v.cluster,
            NULL::text AS node,
            NULL::text AS disk,
            GREATEST((v.replicas - v.previous_replicas), (0)::bigint) AS came,
            GREATEST((v.previous_replicas - v.replicas), (0)::bigint) AS went,
            NULL::text AS why
           FROM ledger.divisions v
          WHERE ((d.kind = 'division'::text) AND (v.fleet = d.fleet) AND (v.number = d.number) AND (v.replicas <> v.previous_replicas))
        UNION ALL
         SELECT NULL::text,
            v.cluster,
            v.node,
            NULL::text,
            v.added,
            v.removed,
            NULL::text
           FROM ledger.deployments v
          WHERE ((d.kind = 'deployment'::text) AND (v.fleet = d.fleet) AND (v.number = d.number) AND ((v.added > 0) OR (v.removed > 0)))
        UNION ALL
         SELECT (t.task)::text AS task,
            t.cluster,
            t.node,
            NULL::text,
                CASE t.kind
                    WHEN 'allocation'::text THEN 1
                    ELSE 0
                END AS "case",
                CASE t.kind
                    WHEN 'eviction'::text THEN 1
                    ELSE 0
                END AS "case",
            t.reason
           FROM ledger.task_moves t
          WHERE ((d.kind = ANY (ARRAY['allocation'::text, 'eviction'::text])) AND (t.fleet = d.fleet) AND (t.number = d.number))
        UNION ALL
         SELECT p.replica,
            p.cluster,
            p.node,
            p.disk,
            1,
            0,
            p.why
           FROM ledger.disk_placements p
          WHERE ((d.kind = 'disk_placement'::text) AND (p.fleet = d.fleet) AND (p.number = d.number))
        UNION ALL
         SELECT (gone.one ->> 'replica'::text),
                CASE
                    WHEN ((gone.one ->> 'node'::text) ~~ '%/%'::text) THEN split_part((gone.one ->> 'node'::text), '/'::text, 1)
                    ELSE ''::text
                END AS "case",
                CASE
                    WHEN ((gone.one ->> 'node'::text) ~~ '%/%'::text) THEN split_part((gone.one ->> 'node'::text), '/'::text, 2)
                    ELSE (gone.one ->> 'node'::text)
                END AS "case",
            (gone.one ->> 'disk'::text),
            0,
            1,
            (gone.one ->> 'why'::text)
           FROM jsonb_array_elements(
                CASE
                    WHEN (d.kind = 'disk_placement'::text) THEN (d.reasons -> 'released'::text)
                    ELSE NULL::jsonb
                END) gone(one)) m)
  WHERE (d.kind = ANY (ARRAY['division'::text, 'deployment'::text, 'allocation'::text, 'eviction'::text, 'disk_placement'::text]));

ALTER VIEW ledger_api.movements OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.movements IS 'What a decision brought to a place or took from it a row: replicas, instances, tasks.';

COMMENT ON COLUMN ledger_api.movements.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.movements.number IS 'The decision.';

COMMENT ON COLUMN ledger_api.movements."position" IS 'Position of the event that made it due.';

COMMENT ON COLUMN ledger_api.movements.recorded_at IS 'Fleet time of that event; null where it was archived.';

COMMENT ON COLUMN ledger_api.movements.kind IS 'division, deployment, allocation, eviction or disk_placement.';

COMMENT ON COLUMN ledger_api.movements.subject IS 'Key of what was decided about.';

COMMENT ON COLUMN ledger_api.movements.thing IS 'Index of the task or name of the replica on a disk; null where only how many is known.';

COMMENT ON COLUMN ledger_api.movements.cluster IS 'Name of the cluster; empty where the fleet does not name it.';

COMMENT ON COLUMN ledger_api.movements.node IS 'Name of the node; null for a division.';

COMMENT ON COLUMN ledger_api.movements.disk IS 'Name of the disk, where it is one.';

COMMENT ON COLUMN ledger_api.movements.came IS 'How many came there.';

COMMENT ON COLUMN ledger_api.movements.went IS 'How many left there, or had been lost there since the decision before.';

COMMENT ON COLUMN ledger_api.movements.why IS 'Why that one, where it is told; else which rule applied.';

CREATE VIEW ledger_api.node_books WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    b.cluster,
    b.node,
    a.amount,
        CASE
            WHEN (b.declared IS NOT NULL) THEN COALESCE(((b.declared ->> a.amount))::numeric, (
            CASE
                WHEN (a.amount <> 'pods'::text) THEN 0
                ELSE NULL::integer
            END)::numeric)
            ELSE NULL::numeric
        END AS declared,
    COALESCE(((b.placed ->> a.amount))::numeric, (0)::numeric) AS placed,
    COALESCE(((b.seen ->> a.amount))::numeric, (0)::numeric) AS seen,
    ((
        CASE
            WHEN (b.declared IS NOT NULL) THEN COALESCE(((b.declared ->> a.amount))::numeric, (
            CASE
                WHEN (a.amount <> 'pods'::text) THEN 0
                ELSE NULL::integer
            END)::numeric)
            ELSE NULL::numeric
        END - COALESCE(((b.placed ->> a.amount))::numeric, (0)::numeric)) - COALESCE(((b.seen ->> a.amount))::numeric, (0)::numeric)) AS free,
    b.over_committed
   FROM ((ledger.node_books b
     JOIN ledger.seen_fleets f ON ((f.number = b.fleet)))
     CROSS JOIN LATERAL ( SELECT jsonb_object_keys(b.declared) AS amount
        UNION
         SELECT jsonb_object_keys(b.placed) AS jsonb_object_keys
        UNION
         SELECT jsonb_object_keys(b.seen) AS jsonb_object_keys) a);

ALTER VIEW ledger_api.node_books OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.node_books IS 'An amount of a node a row: what the node declares, what is held there, what is free.';

COMMENT ON COLUMN ledger_api.node_books.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.node_books.cluster IS 'Name of the cluster.';

COMMENT ON COLUMN ledger_api.node_books.node IS 'Name of the node.';

COMMENT ON COLUMN ledger_api.node_books.amount IS 'cpu in milli-cores, memory and storage in bytes, pods; core NAME in pieces, group NAME and device NAME in bytes.';

COMMENT ON COLUMN ledger_api.node_books.declared IS 'What the node declares; null where the node is not known, and for pods where it sets no limit.';

COMMENT ON COLUMN ledger_api.node_books.placed IS 'What decisions in force placed there.';

COMMENT ON COLUMN ledger_api.node_books.seen IS 'What pods that are seen hold there beyond that.';

COMMENT ON COLUMN ledger_api.node_books.free IS 'Declared less placed and seen; below zero where the node is over-committed, and then counted as 0.';

COMMENT ON COLUMN ledger_api.node_books.over_committed IS 'Whether it is known that the node declares less than it holds, of this or another amount.';

CREATE VIEW ledger_api.partitions WITH (security_barrier='true') AS
 SELECT l.topic,
    l.partition,
    r.next AS next_offset,
    COALESCE(h.halted, false) AS halted,
        CASE
            WHEN h.halted THEN h.reason
            ELSE NULL::text
        END AS reason,
        CASE
            WHEN h.halted THEN h.detail
            ELSE NULL::text
        END AS detail,
        CASE
            WHEN h.halted THEN h.at
            ELSE NULL::timestamp with time zone
        END AS halted_at
   FROM ((ledger.partition_locks l
     LEFT JOIN LATERAL ( SELECT x.next
           FROM ledger.receipts x
          WHERE ((x.topic = l.topic) AND (x.partition = l.partition))
          ORDER BY x.number DESC
         LIMIT 1) r ON (true))
     LEFT JOIN LATERAL ( SELECT x.halted,
            x.reason,
            x.detail,
            x.at
           FROM ledger.partition_halts x
          WHERE ((x.topic = l.topic) AND (x.partition = l.partition))
          ORDER BY x.number DESC
         LIMIT 1) h ON (true))
  WHERE (ARRAY['_ledger'::text, '*'::text] && ARRAY( SELECT granted_fleets.fleet
           FROM ledger.granted_fleets));

ALTER VIEW ledger_api.partitions OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.partitions IS 'A Kafka partition a row: how far it was taken, and whether it stands still until a person has looked.';

COMMENT ON COLUMN ledger_api.partitions.topic IS 'Kafka topic.';

COMMENT ON COLUMN ledger_api.partitions.partition IS 'Kafka partition.';

COMMENT ON COLUMN ledger_api.partitions.next_offset IS 'The next offset to take; null before the first batch.';

COMMENT ON COLUMN ledger_api.partitions.halted IS 'Whether it stands still.';

COMMENT ON COLUMN ledger_api.partitions.reason IS 'Why it stands still, one of docs/operating-kafka.md.';

COMMENT ON COLUMN ledger_api.partitions.detail IS 'What exactly was found.';

COMMENT ON COLUMN ledger_api.partitions.halted_at IS 'Since when it stands still.';

CREATE VIEW ledger_api.proposal_moves WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    d.number,
    m.place AS move,
    (d.result ->> 'what'::text) AS kind,
    (m.one ->> 'subject'::text) AS subject,
    (m.one ->> 'thing'::text) AS thing,
    (m.one ->> 'from'::text) AS from_place,
    NULLIF((m.one ->> 'to'::text), ''::text) AS to_place,
    ((m.one ->> 'bytes'::text))::bigint AS bytes,
    (m.one ->> 'score'::text) AS score
   FROM ((ledger.decisions d
     JOIN ledger.seen_fleets f ON ((f.number = d.fleet)))
     CROSS JOIN LATERAL jsonb_array_elements((d.result -> 'moves'::text)) WITH ORDINALITY m(one, place))
  WHERE (d.kind = 'proposal'::text);

ALTER VIEW ledger_api.proposal_moves OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.proposal_moves IS 'A move of a proposal a row, in the order in which they are to be made.';

COMMENT ON COLUMN ledger_api.proposal_moves.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.proposal_moves.number IS 'The proposal.';

COMMENT ON COLUMN ledger_api.proposal_moves.move IS 'Its place in the proposal, from 1.';

COMMENT ON COLUMN ledger_api.proposal_moves.kind IS 'What is moved: deployments, disks or repair; or, where nothing is, surplus.';

COMMENT ON COLUMN ledger_api.proposal_moves.subject IS 'Whose it is: a volume, or a workload in a cluster.';

COMMENT ON COLUMN ledger_api.proposal_moves.thing IS 'What is moved: name of a replica, number of an instance, name of a pod.';

COMMENT ON COLUMN ledger_api.proposal_moves.from_place IS 'The disk or node that it leaves, with its cluster.';

COMMENT ON COLUMN ledger_api.proposal_moves.to_place IS 'The disk or node that it goes to; null where it is evicted.';

COMMENT ON COLUMN ledger_api.proposal_moves.bytes IS 'The bytes that go with it.';

COMMENT ON COLUMN ledger_api.proposal_moves.score IS 'The score once it and those before it are made, as num/den.';

CREATE VIEW ledger_api.quarantine WITH (security_barrier='true') AS
 SELECT q."position",
    q.address,
    q.fleet,
    q.reason,
    q.detail,
    q.source,
    q.id,
    q.type,
    q.subject,
        CASE
            WHEN (q.channel = 'kafka'::text) THEN q.topic
            ELSE NULL::text
        END AS topic,
    q.partition,
        CASE
            WHEN (q.channel = 'kafka'::text) THEN q.coordinate
            ELSE NULL::bigint
        END AS kafka_offset,
    q.value,
    q.quarantined_at,
    o.outcome,
    o.released_position,
    o.by AS settled_by,
    o.why AS settled_why,
    o.at AS settled_at
   FROM (ledger.quarantine q
     LEFT JOIN ledger.quarantine_outcomes o ON ((o.quarantined = q."position")))
  WHERE (ARRAY[q.fleet, '_ledger'::text, '*'::text] && ARRAY( SELECT granted_fleets.fleet
           FROM ledger.granted_fleets));

ALTER VIEW ledger_api.quarantine OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.quarantine IS 'A message that could not be accepted a row, whole, with its reason and what became of it.';

COMMENT ON COLUMN ledger_api.quarantine."position" IS 'Position of its record in the log of fleet _ledger.';

COMMENT ON COLUMN ledger_api.quarantine.address IS 'Where it came from: topic/partition@offset, file@line, or http/caller@place in the request.';

COMMENT ON COLUMN ledger_api.quarantine.fleet IS 'The fleet it named, where that could be read.';

COMMENT ON COLUMN ledger_api.quarantine.reason IS 'Reason code, one of docs/errors.md.';

COMMENT ON COLUMN ledger_api.quarantine.detail IS 'What exactly was wrong.';

COMMENT ON COLUMN ledger_api.quarantine.source IS 'The producer, where that could be read.';

COMMENT ON COLUMN ledger_api.quarantine.id IS 'The producer''s id, where that could be read.';

COMMENT ON COLUMN ledger_api.quarantine.type IS 'The type, where that could be read.';

COMMENT ON COLUMN ledger_api.quarantine.subject IS 'The subject, where that could be read.';

COMMENT ON COLUMN ledger_api.quarantine.topic IS 'Kafka topic, where it came by Kafka.';

COMMENT ON COLUMN ledger_api.quarantine.partition IS 'Kafka partition, where it came by Kafka.';

COMMENT ON COLUMN ledger_api.quarantine.kafka_offset IS 'Kafka offset, where it came by Kafka.';

COMMENT ON COLUMN ledger_api.quarantine.value IS 'The bytes as they were received.';

COMMENT ON COLUMN ledger_api.quarantine.quarantined_at IS 'When it was set aside.';

COMMENT ON COLUMN ledger_api.quarantine.outcome IS 'released, discarded, or null while it waits.';

COMMENT ON COLUMN ledger_api.quarantine.released_position IS 'Position of the event it was released as.';

COMMENT ON COLUMN ledger_api.quarantine.settled_by IS 'Who released or discarded it: a user of the machine, or whoever asked over HTTP.';

COMMENT ON COLUMN ledger_api.quarantine.settled_why IS 'The reason they gave.';

COMMENT ON COLUMN ledger_api.quarantine.settled_at IS 'When they did.';

CREATE VIEW ledger_api.schema_version WITH (security_barrier='true') AS
 SELECT (version_num)::text AS version
   FROM ledger.schema_version v;

ALTER VIEW ledger_api.schema_version OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.schema_version IS 'One row: which schema this database has. A view or a column that came with a later one is not there yet.';

COMMENT ON COLUMN ledger_api.schema_version.version IS 'Number of the newest migration, such as 0026: they compare as text.';

CREATE VIEW ledger_api.snapshots WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    s.incarnation,
    s.through AS "position",
    s.decisions,
    s.engine,
    s.layout,
    encode(s.types, 'hex'::text) AS types,
    encode(s.digest, 'hex'::text) AS digest,
    encode(s.event_root, 'hex'::text) AS event_root,
    encode(s.decision_root, 'hex'::text) AS decision_root,
    s.bytes,
    s.stored_bytes,
    (EXISTS ( SELECT
           FROM ledger.snapshot_parts p
          WHERE ((p.snapshot = s.number) AND (p.part = 0)))) AS kept,
    s.written_by,
    s.written_at
   FROM (ledger.snapshots s
     JOIN ledger.seen_fleets f ON ((f.number = s.fleet)));

ALTER VIEW ledger_api.snapshots OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.snapshots IS 'What a fleet''s log added up to at some positions, and from where a decider can begin to fold. A cache: unsigned, and nothing is lost without it.';

COMMENT ON COLUMN ledger_api.snapshots.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.snapshots.incarnation IS 'Which life of its log.';

COMMENT ON COLUMN ledger_api.snapshots."position" IS 'Of the last event that was folded.';

COMMENT ON COLUMN ledger_api.snapshots.decisions IS 'How many decisions there were by then.';

COMMENT ON COLUMN ledger_api.snapshots.engine IS 'Version of the engine that folded.';

COMMENT ON COLUMN ledger_api.snapshots.layout IS 'Version of how it is written.';

COMMENT ON COLUMN ledger_api.snapshots.types IS 'Fingerprint of the types it consists of, in hex: only a program with the same ones reads it.';

COMMENT ON COLUMN ledger_api.snapshots.digest IS 'SHA-256 of its bytes, in hex: equal for equal states of a fleet, whoever folded.';

COMMENT ON COLUMN ledger_api.snapshots.event_root IS 'Root of the event tree up to its position, in hex.';

COMMENT ON COLUMN ledger_api.snapshots.decision_root IS 'Root of the tree of its decisions, in hex.';

COMMENT ON COLUMN ledger_api.snapshots.bytes IS 'How many bytes it is.';

COMMENT ON COLUMN ledger_api.snapshots.stored_bytes IS 'How many bytes it takes, compressed.';

COMMENT ON COLUMN ledger_api.snapshots.kept IS 'Whether its bytes are still there; of old ones only this row is.';

COMMENT ON COLUMN ledger_api.snapshots.written_by IS 'The process that wrote it.';

COMMENT ON COLUMN ledger_api.snapshots.written_at IS 'When it was written.';

CREATE VIEW ledger_api.steps WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    d.number,
    d."position",
    d.kind,
    d.subject,
    told.step,
    told.name,
    told.value
   FROM ((ledger.decisions d
     JOIN ledger.seen_fleets f ON ((f.number = d.fleet)))
     CROSS JOIN LATERAL ( WITH RECURSIVE walk(places, names, value) AS (
                 SELECT '{}'::bigint[] AS int8,
                    '{}'::text[] AS text,
                    d.reasons
                UNION ALL
                 SELECT (w_1.places || one.place),
                    (w_1.names || one.name),
                    one.value
                   FROM (walk w_1
                     CROSS JOIN LATERAL ( SELECT o.place,
                            o.name,
                            o.value
                           FROM jsonb_each(
                                CASE
                                    WHEN (jsonb_typeof(w_1.value) = 'object'::text) THEN w_1.value
                                    ELSE NULL::jsonb
                                END) WITH ORDINALITY o(name, value, place)
                        UNION ALL
                         SELECT a.place,
                            (a.place)::text AS place,
                            a.value
                           FROM jsonb_array_elements(
                                CASE
                                    WHEN (jsonb_typeof(w_1.value) = 'array'::text) THEN w_1.value
                                    ELSE NULL::jsonb
                                END) WITH ORDINALITY a(value, place)) one)
                )
         SELECT row_number() OVER (ORDER BY w.places) AS step,
            array_to_string(w.names, '.'::text) AS name,
            (w.value #>> '{}'::text[]) AS value
           FROM walk w
          WHERE (jsonb_typeof(w.value) <> ALL (ARRAY['object'::text, 'array'::text]))) told);

ALTER VIEW ledger_api.steps OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.steps IS 'A number or a word that a decision stands on a row, in order: what reasons says, without JSON.';

COMMENT ON COLUMN ledger_api.steps.fleet IS 'Name of the fleet.';

COMMENT ON COLUMN ledger_api.steps.number IS 'The decision.';

COMMENT ON COLUMN ledger_api.steps."position" IS 'Position of the event that made it due.';

COMMENT ON COLUMN ledger_api.steps.kind IS 'Kind of the decision.';

COMMENT ON COLUMN ledger_api.steps.subject IS 'Key of what was decided about.';

COMMENT ON COLUMN ledger_api.steps.step IS 'Its place among those of the decision, from 1.';

COMMENT ON COLUMN ledger_api.steps.name IS 'What it is, from the whole to the part, such as losers.counts.unready; what stands in a list has its place, from 1.';

COMMENT ON COLUMN ledger_api.steps.value IS 'The number or the word; null where there is none.';

CREATE VIEW ledger_api.stops WITH (security_barrier='true') AS
 SELECT f.name AS fleet,
    s.incarnation,
    s.component,
    s.reason,
    s.detail,
    s.stopped_at,
    (s.incarnation = ( SELECT max(i.incarnation) AS max
           FROM ledger.incarnations i
          WHERE (i.fleet = f.number))) AS stands
   FROM (ledger.fleet_stops s
     JOIN ledger.seen_fleets f ON ((f.number = s.fleet)));

ALTER VIEW ledger_api.stops OWNER TO ledger_owner;

COMMENT ON VIEW ledger_api.stops IS 'Fleets that were stopped because somebody remembered more of their log than was there: a row for each who did.';

COMMENT ON COLUMN ledger_api.stops.fleet IS 'The fleet.';

COMMENT ON COLUMN ledger_api.stops.incarnation IS 'Which life of its log was stopped.';

COMMENT ON COLUMN ledger_api.stops.component IS 'Who noticed: signer, consumer, publisher or decider.';

COMMENT ON COLUMN ledger_api.stops.reason IS 'Why: log_rewound, log_forked or log_rewritten.';

COMMENT ON COLUMN ledger_api.stops.detail IS 'What was remembered, and what is there.';

COMMENT ON COLUMN ledger_api.stops.stopped_at IS 'When it was noticed first.';

COMMENT ON COLUMN ledger_api.stops.stands IS 'Whether the fleet still stands; false once ledger recover began its next life.';

ALTER TABLE ONLY ledger.event_identity ATTACH PARTITION ledger.event_identity_0 FOR VALUES WITH (modulus 8, remainder 0);

ALTER TABLE ONLY ledger.event_identity ATTACH PARTITION ledger.event_identity_1 FOR VALUES WITH (modulus 8, remainder 1);

ALTER TABLE ONLY ledger.event_identity ATTACH PARTITION ledger.event_identity_2 FOR VALUES WITH (modulus 8, remainder 2);

ALTER TABLE ONLY ledger.event_identity ATTACH PARTITION ledger.event_identity_3 FOR VALUES WITH (modulus 8, remainder 3);

ALTER TABLE ONLY ledger.event_identity ATTACH PARTITION ledger.event_identity_4 FOR VALUES WITH (modulus 8, remainder 4);

ALTER TABLE ONLY ledger.event_identity ATTACH PARTITION ledger.event_identity_5 FOR VALUES WITH (modulus 8, remainder 5);

ALTER TABLE ONLY ledger.event_identity ATTACH PARTITION ledger.event_identity_6 FOR VALUES WITH (modulus 8, remainder 6);

ALTER TABLE ONLY ledger.event_identity ATTACH PARTITION ledger.event_identity_7 FOR VALUES WITH (modulus 8, remainder 7);

ALTER TABLE ONLY ledger.events ATTACH PARTITION ledger.events_000000 FOR VALUES FROM ('0') TO ('4194304');

ALTER TABLE ONLY ledger.events ATTACH PARTITION ledger.events_000001 FOR VALUES FROM ('4194304') TO ('8388608');

ALTER TABLE ONLY ledger.events ATTACH PARTITION ledger.events_default DEFAULT;

ALTER TABLE ONLY ledger.admission_answers
    ADD CONSTRAINT admission_answers_pkey PRIMARY KEY (fleet, uid);

ALTER TABLE ONLY ledger.append_locks
    ADD CONSTRAINT append_locks_pkey PRIMARY KEY (fleet, tree);

ALTER TABLE ONLY ledger.archived_ranges
    ADD CONSTRAINT archived_ranges_pkey PRIMARY KEY (fleet, first);

ALTER TABLE ONLY ledger.bindings
    ADD CONSTRAINT bindings_pkey PRIMARY KEY (fleet, number, instance);

ALTER TABLE ONLY ledger.checkpoints
    ADD CONSTRAINT checkpoints_pkey PRIMARY KEY (fleet, incarnation, tree, size, again);

ALTER TABLE ONLY ledger.decided
    ADD CONSTRAINT decided_pkey PRIMARY KEY (fleet, through);

ALTER TABLE ONLY ledger.decisions
    ADD CONSTRAINT decisions_pkey PRIMARY KEY (fleet, number);

ALTER TABLE ONLY ledger.deployments
    ADD CONSTRAINT deployments_pkey PRIMARY KEY (fleet, number, node);

ALTER TABLE ONLY ledger.disk_books
    ADD CONSTRAINT disk_books_pkey PRIMARY KEY (fleet, cluster, node, disk);

ALTER TABLE ONLY ledger.disk_placements
    ADD CONSTRAINT disk_placements_pkey PRIMARY KEY (fleet, number, replica);

ALTER TABLE ONLY ledger.divisions
    ADD CONSTRAINT divisions_pkey PRIMARY KEY (fleet, number, cluster);

ALTER TABLE ONLY ledger.ended_incidents
    ADD CONSTRAINT ended_incidents_pkey PRIMARY KEY (fleet, number);

ALTER TABLE ONLY ledger.ended_proposals
    ADD CONSTRAINT ended_proposals_pkey PRIMARY KEY (fleet, number);

ALTER TABLE ONLY ledger.ended_refusals
    ADD CONSTRAINT ended_refusals_pkey PRIMARY KEY (fleet, number);

ALTER TABLE ONLY ledger.event_effects
    ADD CONSTRAINT event_effects_pkey PRIMARY KEY (fleet, "position");

ALTER TABLE ONLY ledger.event_identity
    ADD CONSTRAINT event_identity_pkey PRIMARY KEY (fleet, identity);

ALTER TABLE ONLY ledger.event_identity_0
    ADD CONSTRAINT event_identity_0_pkey PRIMARY KEY (fleet, identity);

ALTER TABLE ONLY ledger.event_identity_1
    ADD CONSTRAINT event_identity_1_pkey PRIMARY KEY (fleet, identity);

ALTER TABLE ONLY ledger.event_identity_2
    ADD CONSTRAINT event_identity_2_pkey PRIMARY KEY (fleet, identity);

ALTER TABLE ONLY ledger.event_identity_3
    ADD CONSTRAINT event_identity_3_pkey PRIMARY KEY (fleet, identity);

ALTER TABLE ONLY ledger.event_identity_4
    ADD CONSTRAINT event_identity_4_pkey PRIMARY KEY (fleet, identity);

ALTER TABLE ONLY ledger.event_identity_5
    ADD CONSTRAINT event_identity_5_pkey PRIMARY KEY (fleet, identity);

ALTER TABLE ONLY ledger.event_identity_6
    ADD CONSTRAINT event_identity_6_pkey PRIMARY KEY (fleet, identity);

ALTER TABLE ONLY ledger.event_identity_7
    ADD CONSTRAINT event_identity_7_pkey PRIMARY KEY (fleet, identity);

ALTER TABLE ONLY ledger.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (fleet, "position");

ALTER TABLE ONLY ledger.events_000000
    ADD CONSTRAINT events_000000_pkey PRIMARY KEY (fleet, "position");

ALTER TABLE ONLY ledger.events_000001
    ADD CONSTRAINT events_000001_pkey PRIMARY KEY (fleet, "position");

ALTER TABLE ONLY ledger.events_default
    ADD CONSTRAINT events_default_pkey PRIMARY KEY (fleet, "position");

ALTER TABLE ONLY ledger.fair_shares
    ADD CONSTRAINT fair_shares_pkey PRIMARY KEY (fleet, queue, namespace, resource);

ALTER TABLE ONLY ledger.fleet_readers
    ADD CONSTRAINT fleet_readers_pkey PRIMARY KEY (reader, fleet);

ALTER TABLE ONLY ledger.fleet_stops
    ADD CONSTRAINT fleet_stops_pkey PRIMARY KEY (fleet, incarnation, component);

ALTER TABLE ONLY ledger.fleets
    ADD CONSTRAINT fleets_name_key UNIQUE (name);

ALTER TABLE ONLY ledger.fleets
    ADD CONSTRAINT fleets_pkey PRIMARY KEY (number);

ALTER TABLE ONLY ledger.geneses
    ADD CONSTRAINT geneses_pkey PRIMARY KEY (fleet);

ALTER TABLE ONLY ledger.heads
    ADD CONSTRAINT heads_pkey PRIMARY KEY (fleet, tree, size);

ALTER TABLE ONLY ledger.incarnations
    ADD CONSTRAINT incarnations_pkey PRIMARY KEY (fleet, incarnation);

ALTER TABLE ONLY ledger.job_books
    ADD CONSTRAINT job_books_pkey PRIMARY KEY (fleet, namespace, job);

ALTER TABLE ONLY ledger.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (fleet, duty);

ALTER TABLE ONLY ledger.namespace_weights
    ADD CONSTRAINT namespace_weights_pkey PRIMARY KEY (fleet, namespace);

ALTER TABLE ONLY ledger.node_books
    ADD CONSTRAINT node_books_pkey PRIMARY KEY (fleet, cluster, node);

ALTER TABLE ONLY ledger.open_incidents
    ADD CONSTRAINT open_incidents_number_key UNIQUE (number, fleet);

ALTER TABLE ONLY ledger.open_incidents
    ADD CONSTRAINT open_incidents_pkey PRIMARY KEY (fleet, subject, what, node);

ALTER TABLE ONLY ledger.open_refusals
    ADD CONSTRAINT open_refusals_number_key UNIQUE (number, fleet);

ALTER TABLE ONLY ledger.open_refusals
    ADD CONSTRAINT open_refusals_pkey PRIMARY KEY (fleet, wanted, subject);

ALTER TABLE ONLY ledger.partition_epochs
    ADD CONSTRAINT partition_epochs_pkey PRIMARY KEY (topic, partition, epoch);

ALTER TABLE ONLY ledger.partition_halts
    ADD CONSTRAINT partition_halts_pkey PRIMARY KEY (number);

ALTER TABLE ONLY ledger.partition_locks
    ADD CONSTRAINT partition_locks_pkey PRIMARY KEY (topic, partition);

ALTER TABLE ONLY ledger.partition_pins
    ADD CONSTRAINT partition_pins_pkey PRIMARY KEY (number);

ALTER TABLE ONLY ledger.placed_by
    ADD CONSTRAINT placed_by_pkey PRIMARY KEY (fleet, subject, kind);

ALTER TABLE ONLY ledger.placements
    ADD CONSTRAINT placements_pkey PRIMARY KEY (fleet, subject, kind, cluster, node, disk);

ALTER TABLE ONLY ledger.published
    ADD CONSTRAINT published_pkey PRIMARY KEY (fleet, next);

ALTER TABLE ONLY ledger.quarantine_outcomes
    ADD CONSTRAINT quarantine_outcomes_pkey PRIMARY KEY (quarantined);

ALTER TABLE ONLY ledger.quarantine
    ADD CONSTRAINT quarantine_pkey PRIMARY KEY ("position");

ALTER TABLE ONLY ledger.queue_books
    ADD CONSTRAINT queue_books_pkey PRIMARY KEY (fleet, queue, namespace);

ALTER TABLE ONLY ledger.receipts
    ADD CONSTRAINT receipts_pkey PRIMARY KEY (topic, partition, number);

ALTER TABLE ONLY ledger.running_tasks
    ADD CONSTRAINT running_tasks_pkey PRIMARY KEY (fleet, namespace, job, task);

ALTER TABLE ONLY ledger.schema_version
    ADD CONSTRAINT schema_version_pkc PRIMARY KEY (version_num);

ALTER TABLE ONLY ledger.shared_totals
    ADD CONSTRAINT shared_totals_pkey PRIMARY KEY (fleet, resource);

ALTER TABLE ONLY ledger.snapshot_parts
    ADD CONSTRAINT snapshot_parts_pkey PRIMARY KEY (snapshot, part);

ALTER TABLE ONLY ledger.snapshots
    ADD CONSTRAINT snapshots_fleet_through_incarnation_engine_layout_types_key UNIQUE (fleet, through, incarnation, engine, layout, types);

ALTER TABLE ONLY ledger.snapshots
    ADD CONSTRAINT snapshots_pkey PRIMARY KEY (number);

ALTER TABLE ONLY ledger.source_bindings
    ADD CONSTRAINT source_bindings_pkey PRIMARY KEY (source, fleet);

ALTER TABLE ONLY ledger.standbys
    ADD CONSTRAINT standbys_pkey PRIMARY KEY (fleet, duty, holder);

ALTER TABLE ONLY ledger.task_moves
    ADD CONSTRAINT task_moves_pkey PRIMARY KEY (fleet, number, task);

ALTER TABLE ONLY ledger.tile_hashes
    ADD CONSTRAINT tile_hashes_pkey PRIMARY KEY (fleet, tree, level, number);

CREATE INDEX bindings_by_node ON ledger.bindings USING btree (fleet, cluster, node, number);

CREATE INDEX decisions_by_position ON ledger.decisions USING btree (fleet, "position");

CREATE INDEX decisions_by_subject ON ledger.decisions USING btree (fleet, subject, number);

CREATE INDEX decisions_of_capacity_classes ON ledger.decisions USING btree (fleet, number) WHERE (kind = 'capacity_class'::text);

CREATE INDEX decisions_of_incidents ON ledger.decisions USING btree (fleet, number) WHERE (kind = 'incident'::text);

CREATE INDEX decisions_of_proposals ON ledger.decisions USING btree (fleet, number) WHERE (kind = 'proposal'::text);

CREATE INDEX decisions_of_refusals ON ledger.decisions USING btree (fleet, number) WHERE (kind = 'refusal'::text);

CREATE INDEX deployments_by_node ON ledger.deployments USING btree (fleet, cluster, node, number);

CREATE INDEX deployments_by_workload ON ledger.deployments USING btree (fleet, namespace, workload, number);

CREATE INDEX disk_placements_by_disk ON ledger.disk_placements USING btree (fleet, cluster, node, disk, number);

CREATE INDEX disk_placements_by_volume ON ledger.disk_placements USING btree (fleet, volume, number);

CREATE INDEX divisions_by_cluster ON ledger.divisions USING btree (fleet, cluster, number);

CREATE INDEX divisions_by_workload ON ledger.divisions USING btree (fleet, namespace, workload, number);

CREATE INDEX events_by_subject ON ONLY ledger.events USING btree (fleet, subject, "position");

CREATE INDEX events_000000_fleet_subject_position_idx ON ledger.events_000000 USING btree (fleet, subject, "position");

CREATE INDEX events_000001_fleet_subject_position_idx ON ledger.events_000001 USING btree (fleet, subject, "position");

CREATE INDEX events_default_fleet_subject_position_idx ON ledger.events_default USING btree (fleet, subject, "position");

CREATE INDEX partition_halts_newest ON ledger.partition_halts USING btree (topic, partition, number DESC);

CREATE INDEX partition_pins_newest ON ledger.partition_pins USING btree (fleet, topic, number DESC);

CREATE INDEX past_disk_books_by_fork ON ledger.past_disk_books USING btree (fleet, fork, until_position, from_position);

CREATE INDEX past_fair_shares_by_fork ON ledger.past_fair_shares USING btree (fleet, fork, until_position, from_position);

CREATE INDEX past_job_books_by_fork ON ledger.past_job_books USING btree (fleet, fork, until_position, from_position);

CREATE INDEX past_namespace_weights_by_fork ON ledger.past_namespace_weights USING btree (fleet, fork, until_position, from_position);

CREATE INDEX past_open_incidents_by_fork ON ledger.past_open_incidents USING btree (fleet, fork, until_position, from_position);

CREATE INDEX past_open_refusals_by_fork ON ledger.past_open_refusals USING btree (fleet, fork, until_position, from_position);

CREATE INDEX past_placed_by_by_fork ON ledger.past_placed_by USING btree (fleet, fork, until_position, from_position);

CREATE INDEX past_placed_by_by_subject ON ledger.past_placed_by USING btree (fleet, subject, from_position);

CREATE INDEX past_placements_by_fork ON ledger.past_placements USING btree (fleet, fork, until_position, from_position);

CREATE INDEX past_placements_by_subject ON ledger.past_placements USING btree (fleet, subject, from_position);

CREATE INDEX past_queue_books_by_fork ON ledger.past_queue_books USING btree (fleet, fork, until_position, from_position);

CREATE INDEX past_running_tasks_by_fork ON ledger.past_running_tasks USING btree (fleet, fork, until_position, from_position);

CREATE INDEX past_shared_totals_by_fork ON ledger.past_shared_totals USING btree (fleet, fork, until_position, from_position);

CREATE INDEX placements_by_node ON ledger.placements USING btree (cluster, NULLIF(node, ''::text), fleet);

CREATE INDEX quarantine_by_address ON ledger.quarantine USING btree (address, "position");

CREATE INDEX running_tasks_by_node ON ledger.running_tasks USING btree (cluster, node, fleet);

CREATE INDEX task_moves_by_job ON ledger.task_moves USING btree (fleet, namespace, job, number);

CREATE INDEX task_moves_by_node ON ledger.task_moves USING btree (fleet, cluster, node, number);

ALTER INDEX ledger.event_identity_pkey ATTACH PARTITION ledger.event_identity_0_pkey;

ALTER INDEX ledger.event_identity_pkey ATTACH PARTITION ledger.event_identity_1_pkey;

ALTER INDEX ledger.event_identity_pkey ATTACH PARTITION ledger.event_identity_2_pkey;

ALTER INDEX ledger.event_identity_pkey ATTACH PARTITION ledger.event_identity_3_pkey;

ALTER INDEX ledger.event_identity_pkey ATTACH PARTITION ledger.event_identity_4_pkey;

ALTER INDEX ledger.event_identity_pkey ATTACH PARTITION ledger.event_identity_5_pkey;

ALTER INDEX ledger.event_identity_pkey ATTACH PARTITION ledger.event_identity_6_pkey;

ALTER INDEX ledger.event_identity_pkey ATTACH PARTITION ledger.event_identity_7_pkey;

ALTER INDEX ledger.events_by_subject ATTACH PARTITION ledger.events_000000_fleet_subject_position_idx;

ALTER INDEX ledger.events_pkey ATTACH PARTITION ledger.events_000000_pkey;

ALTER INDEX ledger.events_by_subject ATTACH PARTITION ledger.events_000001_fleet_subject_position_idx;

ALTER INDEX ledger.events_pkey ATTACH PARTITION ledger.events_000001_pkey;

ALTER INDEX ledger.events_by_subject ATTACH PARTITION ledger.events_default_fleet_subject_position_idx;

ALTER INDEX ledger.events_pkey ATTACH PARTITION ledger.events_default_pkey;

CREATE TRIGGER continuity BEFORE INSERT ON ledger.receipts FOR EACH ROW EXECUTE FUNCTION ledger.check_receipt();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.admission_answers FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.append_locks FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.archived_ranges FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.bindings FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.checkpoints FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.decided FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.decisions FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.deployments FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.disk_placements FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.divisions FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.ended_incidents FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.ended_proposals FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.ended_refusals FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.event_effects FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.event_identity FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.events FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.fleet_stops FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.fleets FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.geneses FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.heads FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.incarnations FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.partition_epochs FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.partition_halts FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.partition_locks FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.partition_pins FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.past_disk_books FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.past_fair_shares FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.past_job_books FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.past_namespace_weights FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.past_open_incidents FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.past_open_refusals FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.past_placed_by FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.past_placements FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.past_queue_books FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.past_running_tasks FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.past_shared_totals FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.published FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.quarantine FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.quarantine_outcomes FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.receipts FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.task_moves FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_rows BEFORE DELETE OR UPDATE ON ledger.tile_hashes FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.admission_answers FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.append_locks FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.archived_ranges FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.bindings FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.checkpoints FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.decided FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.decisions FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.deployments FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.disk_placements FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.divisions FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.ended_incidents FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.ended_proposals FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.ended_refusals FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.event_effects FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.event_identity FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.event_identity_0 FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.event_identity_1 FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.event_identity_2 FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.event_identity_3 FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.event_identity_4 FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.event_identity_5 FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.event_identity_6 FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.event_identity_7 FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.events FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.events_000000 FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.events_000001 FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.events_default FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.fleet_stops FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.fleets FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.geneses FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.heads FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.incarnations FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.partition_epochs FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.partition_halts FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.partition_locks FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.partition_pins FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.past_disk_books FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.past_fair_shares FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.past_job_books FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.past_namespace_weights FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.past_open_incidents FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.past_open_refusals FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.past_placed_by FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.past_placements FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.past_queue_books FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.past_running_tasks FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.past_shared_totals FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.published FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.quarantine FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.quarantine_outcomes FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.receipts FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.task_moves FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TRIGGER history_whole BEFORE TRUNCATE ON ledger.tile_hashes FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

ALTER TABLE ONLY ledger.admission_answers
    ADD CONSTRAINT admission_answers_fleet_fkey FOREIGN KEY (fleet) REFERENCES ledger.fleets(number);

ALTER TABLE ONLY ledger.append_locks
    ADD CONSTRAINT append_locks_fleet_fkey FOREIGN KEY (fleet) REFERENCES ledger.fleets(number);

ALTER TABLE ONLY ledger.archived_ranges
    ADD CONSTRAINT archived_ranges_fleet_fkey FOREIGN KEY (fleet) REFERENCES ledger.fleets(number);

ALTER TABLE ONLY ledger.checkpoints
    ADD CONSTRAINT checkpoints_fleet_fkey FOREIGN KEY (fleet) REFERENCES ledger.fleets(number);

ALTER TABLE ONLY ledger.decided
    ADD CONSTRAINT decided_fleet_fkey FOREIGN KEY (fleet) REFERENCES ledger.fleets(number);

ALTER TABLE ONLY ledger.fleet_stops
    ADD CONSTRAINT fleet_stops_fleet_fkey FOREIGN KEY (fleet) REFERENCES ledger.fleets(number);

ALTER TABLE ONLY ledger.geneses
    ADD CONSTRAINT geneses_fleet_fkey FOREIGN KEY (fleet) REFERENCES ledger.fleets(number);

ALTER TABLE ONLY ledger.heads
    ADD CONSTRAINT heads_fleet_tree_fkey FOREIGN KEY (fleet, tree) REFERENCES ledger.append_locks(fleet, tree);

ALTER TABLE ONLY ledger.incarnations
    ADD CONSTRAINT incarnations_fleet_fkey FOREIGN KEY (fleet) REFERENCES ledger.fleets(number);

ALTER TABLE ONLY ledger.leases
    ADD CONSTRAINT leases_fleet_fkey FOREIGN KEY (fleet) REFERENCES ledger.fleets(number);

ALTER TABLE ONLY ledger.partition_epochs
    ADD CONSTRAINT partition_epochs_topic_partition_fkey FOREIGN KEY (topic, partition) REFERENCES ledger.partition_locks(topic, partition);

ALTER TABLE ONLY ledger.published
    ADD CONSTRAINT published_fleet_fkey FOREIGN KEY (fleet) REFERENCES ledger.fleets(number);

ALTER TABLE ONLY ledger.quarantine_outcomes
    ADD CONSTRAINT quarantine_outcomes_quarantined_fkey FOREIGN KEY (quarantined) REFERENCES ledger.quarantine("position");

ALTER TABLE ONLY ledger.receipts
    ADD CONSTRAINT receipts_topic_partition_epoch_fkey FOREIGN KEY (topic, partition, epoch) REFERENCES ledger.partition_epochs(topic, partition, epoch);

ALTER TABLE ONLY ledger.snapshot_parts
    ADD CONSTRAINT snapshot_parts_snapshot_fkey FOREIGN KEY (snapshot) REFERENCES ledger.snapshots(number);

ALTER TABLE ONLY ledger.snapshots
    ADD CONSTRAINT snapshots_fleet_fkey FOREIGN KEY (fleet) REFERENCES ledger.fleets(number);

ALTER TABLE ONLY ledger.standbys
    ADD CONSTRAINT standbys_fleet_fkey FOREIGN KEY (fleet) REFERENCES ledger.fleets(number);

ALTER TABLE ONLY ledger.tile_hashes
    ADD CONSTRAINT tile_hashes_fleet_tree_fkey FOREIGN KEY (fleet, tree) REFERENCES ledger.append_locks(fleet, tree);

GRANT USAGE ON SCHEMA ledger TO ledger_maintainer;
GRANT USAGE ON SCHEMA ledger TO ledger_writer;
GRANT USAGE ON SCHEMA ledger TO ledger_decider;
GRANT USAGE ON SCHEMA ledger TO ledger_publisher;
GRANT USAGE ON SCHEMA ledger TO ledger_signer;

GRANT USAGE ON SCHEMA ledger_api TO ledger_reader;
GRANT USAGE ON SCHEMA ledger_api TO ledger_maintainer;
GRANT USAGE ON SCHEMA ledger_api TO ledger_writer;
GRANT USAGE ON SCHEMA ledger_api TO ledger_decider;
GRANT USAGE ON SCHEMA ledger_api TO ledger_publisher;
GRANT USAGE ON SCHEMA ledger_api TO ledger_signer;

REVOKE ALL ON FUNCTION ledger.adopt_default() FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.adopt_default() TO ledger_maintainer;

REVOKE ALL ON FUNCTION ledger.check_receipt() FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.check_receipt() TO ledger_writer;

REVOKE ALL ON FUNCTION ledger.claim_partition(p_topic text, p_partition integer, p_epoch bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.claim_partition(p_topic text, p_partition integer, p_epoch bigint) TO ledger_writer;

REVOKE ALL ON FUNCTION ledger.refuse_fleet(fleet text) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.refuse_fleet(fleet text) TO ledger_reader;
GRANT ALL ON FUNCTION ledger.refuse_fleet(fleet text) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger.refuse_fleet(fleet text) TO ledger_writer;
GRANT ALL ON FUNCTION ledger.refuse_fleet(fleet text) TO ledger_decider;
GRANT ALL ON FUNCTION ledger.refuse_fleet(fleet text) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger.refuse_fleet(fleet text) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger.refuse_undecided(fleet text, "position" bigint, through bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.refuse_undecided(fleet text, "position" bigint, through bigint) TO ledger_reader;
GRANT ALL ON FUNCTION ledger.refuse_undecided(fleet text, "position" bigint, through bigint) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger.refuse_undecided(fleet text, "position" bigint, through bigint) TO ledger_writer;
GRANT ALL ON FUNCTION ledger.refuse_undecided(fleet text, "position" bigint, through bigint) TO ledger_decider;
GRANT ALL ON FUNCTION ledger.refuse_undecided(fleet text, "position" bigint, through bigint) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger.refuse_undecided(fleet text, "position" bigint, through bigint) TO ledger_signer;

GRANT SELECT ON TABLE ledger.decided TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.decided TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.decided TO ledger_decider;
GRANT SELECT ON TABLE ledger.decided TO ledger_publisher;
GRANT SELECT ON TABLE ledger.decided TO ledger_signer;

GRANT SELECT ON TABLE ledger.fleet_readers TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.fleet_readers TO ledger_writer;
GRANT SELECT ON TABLE ledger.fleet_readers TO ledger_decider;
GRANT SELECT ON TABLE ledger.fleet_readers TO ledger_publisher;
GRANT SELECT ON TABLE ledger.fleet_readers TO ledger_signer;

GRANT SELECT ON TABLE ledger.fleets TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.fleets TO ledger_writer;
GRANT SELECT ON TABLE ledger.fleets TO ledger_decider;
GRANT SELECT ON TABLE ledger.fleets TO ledger_publisher;
GRANT SELECT ON TABLE ledger.fleets TO ledger_signer;

GRANT SELECT ON TABLE ledger.heads TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.heads TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.heads TO ledger_decider;
GRANT SELECT ON TABLE ledger.heads TO ledger_publisher;
GRANT SELECT ON TABLE ledger.heads TO ledger_signer;

GRANT SELECT ON TABLE ledger.seen_fleets TO ledger_reader;
GRANT SELECT ON TABLE ledger.seen_fleets TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.seen_fleets TO ledger_writer;
GRANT SELECT ON TABLE ledger.seen_fleets TO ledger_decider;
GRANT SELECT ON TABLE ledger.seen_fleets TO ledger_publisher;
GRANT SELECT ON TABLE ledger.seen_fleets TO ledger_signer;

GRANT SELECT ON TABLE ledger.decided_over_time TO ledger_reader;
GRANT SELECT ON TABLE ledger.decided_over_time TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.decided_over_time TO ledger_writer;
GRANT SELECT ON TABLE ledger.decided_over_time TO ledger_decider;
GRANT SELECT ON TABLE ledger.decided_over_time TO ledger_publisher;
GRANT SELECT ON TABLE ledger.decided_over_time TO ledger_signer;

REVOKE ALL ON FUNCTION ledger.is_decided(fleet text, "position" bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.is_decided(fleet text, "position" bigint) TO ledger_reader;
GRANT ALL ON FUNCTION ledger.is_decided(fleet text, "position" bigint) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger.is_decided(fleet text, "position" bigint) TO ledger_writer;
GRANT ALL ON FUNCTION ledger.is_decided(fleet text, "position" bigint) TO ledger_decider;
GRANT ALL ON FUNCTION ledger.is_decided(fleet text, "position" bigint) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger.is_decided(fleet text, "position" bigint) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger.last_by(fleet text, moment timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.last_by(fleet text, moment timestamp with time zone) TO ledger_reader;
GRANT ALL ON FUNCTION ledger.last_by(fleet text, moment timestamp with time zone) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger.last_by(fleet text, moment timestamp with time zone) TO ledger_writer;
GRANT ALL ON FUNCTION ledger.last_by(fleet text, moment timestamp with time zone) TO ledger_decider;
GRANT ALL ON FUNCTION ledger.last_by(fleet text, moment timestamp with time zone) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger.last_by(fleet text, moment timestamp with time zone) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.position_at(fleet text, moment timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.position_at(fleet text, moment timestamp with time zone) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.position_at(fleet text, moment timestamp with time zone) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.position_at(fleet text, moment timestamp with time zone) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.position_at(fleet text, moment timestamp with time zone) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.position_at(fleet text, moment timestamp with time zone) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.position_at(fleet text, moment timestamp with time zone) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger.decided_at(fleet text, moment timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.decided_at(fleet text, moment timestamp with time zone) TO ledger_reader;
GRANT ALL ON FUNCTION ledger.decided_at(fleet text, moment timestamp with time zone) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger.decided_at(fleet text, moment timestamp with time zone) TO ledger_writer;
GRANT ALL ON FUNCTION ledger.decided_at(fleet text, moment timestamp with time zone) TO ledger_decider;
GRANT ALL ON FUNCTION ledger.decided_at(fleet text, moment timestamp with time zone) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger.decided_at(fleet text, moment timestamp with time zone) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger.detach_partition(p_ordinal bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.detach_partition(p_ordinal bigint) TO ledger_maintainer;

REVOKE ALL ON FUNCTION ledger.exact_share(held numeric, whole numeric) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.exact_share(held numeric, whole numeric) TO ledger_reader;
GRANT ALL ON FUNCTION ledger.exact_share(held numeric, whole numeric) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger.exact_share(held numeric, whole numeric) TO ledger_writer;
GRANT ALL ON FUNCTION ledger.exact_share(held numeric, whole numeric) TO ledger_decider;
GRANT ALL ON FUNCTION ledger.exact_share(held numeric, whole numeric) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger.exact_share(held numeric, whole numeric) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger.forks_before(at bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.forks_before(at bigint) TO ledger_reader;
GRANT ALL ON FUNCTION ledger.forks_before(at bigint) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger.forks_before(at bigint) TO ledger_writer;
GRANT ALL ON FUNCTION ledger.forks_before(at bigint) TO ledger_decider;
GRANT ALL ON FUNCTION ledger.forks_before(at bigint) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger.forks_before(at bigint) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger.forks_behind(at bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.forks_behind(at bigint) TO ledger_reader;
GRANT ALL ON FUNCTION ledger.forks_behind(at bigint) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger.forks_behind(at bigint) TO ledger_writer;
GRANT ALL ON FUNCTION ledger.forks_behind(at bigint) TO ledger_decider;
GRANT ALL ON FUNCTION ledger.forks_behind(at bigint) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger.forks_behind(at bigint) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger.has_partition(p_ordinal bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.has_partition(p_ordinal bigint) TO ledger_maintainer;

REVOKE ALL ON FUNCTION ledger.is_recovered(p_topic text, p_partition integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.is_recovered(p_topic text, p_partition integer) TO ledger_writer;

REVOKE ALL ON FUNCTION ledger.is_recovered_behind(p_fleet text, p_topic text, p_partition integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.is_recovered_behind(p_fleet text, p_topic text, p_partition integer) TO ledger_writer;

REVOKE ALL ON FUNCTION ledger.lock_tree(p_fleet integer, p_tree text) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.lock_tree(p_fleet integer, p_tree text) TO ledger_writer;
GRANT ALL ON FUNCTION ledger.lock_tree(p_fleet integer, p_tree text) TO ledger_decider;

REVOKE ALL ON FUNCTION ledger.make_partition(p_ordinal bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.make_partition(p_ordinal bigint) TO ledger_maintainer;

REVOKE ALL ON FUNCTION ledger.micros(moment timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.micros(moment timestamp with time zone) TO ledger_reader;
GRANT ALL ON FUNCTION ledger.micros(moment timestamp with time zone) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger.micros(moment timestamp with time zone) TO ledger_writer;
GRANT ALL ON FUNCTION ledger.micros(moment timestamp with time zone) TO ledger_decider;
GRANT ALL ON FUNCTION ledger.micros(moment timestamp with time zone) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger.micros(moment timestamp with time zone) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger.moment(micros bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.moment(micros bigint) TO ledger_reader;
GRANT ALL ON FUNCTION ledger.moment(micros bigint) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger.moment(micros bigint) TO ledger_writer;
GRANT ALL ON FUNCTION ledger.moment(micros bigint) TO ledger_decider;
GRANT ALL ON FUNCTION ledger.moment(micros bigint) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger.moment(micros bigint) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger.newest_receipt(p_topic text, p_partition integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.newest_receipt(p_topic text, p_partition integer) TO ledger_writer;

REVOKE ALL ON FUNCTION ledger.whole_of(cpu numeric, memory numeric, storage numeric) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.whole_of(cpu numeric, memory numeric, storage numeric) TO ledger_reader;
GRANT ALL ON FUNCTION ledger.whole_of(cpu numeric, memory numeric, storage numeric) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger.whole_of(cpu numeric, memory numeric, storage numeric) TO ledger_writer;
GRANT ALL ON FUNCTION ledger.whole_of(cpu numeric, memory numeric, storage numeric) TO ledger_decider;
GRANT ALL ON FUNCTION ledger.whole_of(cpu numeric, memory numeric, storage numeric) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger.whole_of(cpu numeric, memory numeric, storage numeric) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger.of_whole(resource text, amount numeric, cpu numeric, memory numeric, storage numeric) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.of_whole(resource text, amount numeric, cpu numeric, memory numeric, storage numeric) TO ledger_reader;
GRANT ALL ON FUNCTION ledger.of_whole(resource text, amount numeric, cpu numeric, memory numeric, storage numeric) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger.of_whole(resource text, amount numeric, cpu numeric, memory numeric, storage numeric) TO ledger_writer;
GRANT ALL ON FUNCTION ledger.of_whole(resource text, amount numeric, cpu numeric, memory numeric, storage numeric) TO ledger_decider;
GRANT ALL ON FUNCTION ledger.of_whole(resource text, amount numeric, cpu numeric, memory numeric, storage numeric) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger.of_whole(resource text, amount numeric, cpu numeric, memory numeric, storage numeric) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger.open_epoch(p_topic text, p_partition integer, p_owner text) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.open_epoch(p_topic text, p_partition integer, p_owner text) TO ledger_writer;

REVOKE ALL ON FUNCTION ledger.open_incarnation(p_fleet integer, p_incarnation integer, p_events bigint, p_decisions bigint, p_reason text, p_said bytea, p_revision smallint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.open_incarnation(p_fleet integer, p_incarnation integer, p_events bigint, p_decisions bigint, p_reason text, p_said bytea, p_revision smallint) TO ledger_writer;

REVOKE ALL ON FUNCTION ledger.pinned(p_fleet text) FROM PUBLIC;

REVOKE ALL ON FUNCTION ledger.positions_per_partition() FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.positions_per_partition() TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger.positions_per_partition() TO ledger_writer;
GRANT ALL ON FUNCTION ledger.positions_per_partition() TO ledger_decider;

REVOKE ALL ON PROCEDURE ledger.protect(IN history regclass) FROM PUBLIC;

REVOKE ALL ON FUNCTION ledger.refuse_change() FROM PUBLIC;

GRANT SELECT ON TABLE ledger.decisions TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.decisions TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.decisions TO ledger_decider;
GRANT SELECT ON TABLE ledger.decisions TO ledger_publisher;
GRANT SELECT ON TABLE ledger.decisions TO ledger_signer;

GRANT SELECT ON TABLE ledger.events TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.events TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.events TO ledger_decider;
GRANT SELECT ON TABLE ledger.events TO ledger_publisher;
GRANT SELECT ON TABLE ledger.events TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.decisions TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.decisions TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.decisions TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.decisions TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.decisions TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.decisions TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.decisions_between(fleet text, "from" bigint, "to" bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.decisions_between(fleet text, "from" bigint, "to" bigint) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.decisions_between(fleet text, "from" bigint, "to" bigint) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.decisions_between(fleet text, "from" bigint, "to" bigint) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.decisions_between(fleet text, "from" bigint, "to" bigint) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.decisions_between(fleet text, "from" bigint, "to" bigint) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.decisions_between(fleet text, "from" bigint, "to" bigint) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.decisions_between(fleet text, "from" timestamp with time zone, "to" timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.decisions_between(fleet text, "from" timestamp with time zone, "to" timestamp with time zone) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.decisions_between(fleet text, "from" timestamp with time zone, "to" timestamp with time zone) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.decisions_between(fleet text, "from" timestamp with time zone, "to" timestamp with time zone) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.decisions_between(fleet text, "from" timestamp with time zone, "to" timestamp with time zone) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.decisions_between(fleet text, "from" timestamp with time zone, "to" timestamp with time zone) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.decisions_between(fleet text, "from" timestamp with time zone, "to" timestamp with time zone) TO ledger_signer;

GRANT SELECT ON TABLE ledger.disk_books TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.disk_books TO ledger_writer;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.disk_books TO ledger_decider;
GRANT SELECT ON TABLE ledger.disk_books TO ledger_publisher;
GRANT SELECT ON TABLE ledger.disk_books TO ledger_signer;

GRANT SELECT ON TABLE ledger.past_disk_books TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.past_disk_books TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.past_disk_books TO ledger_decider;
GRANT SELECT ON TABLE ledger.past_disk_books TO ledger_publisher;
GRANT SELECT ON TABLE ledger.past_disk_books TO ledger_signer;

GRANT SELECT ON TABLE ledger.disk_books_over_time TO ledger_reader;
GRANT SELECT ON TABLE ledger.disk_books_over_time TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.disk_books_over_time TO ledger_writer;
GRANT SELECT ON TABLE ledger.disk_books_over_time TO ledger_decider;
GRANT SELECT ON TABLE ledger.disk_books_over_time TO ledger_publisher;
GRANT SELECT ON TABLE ledger.disk_books_over_time TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.disk_books TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.disk_books TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.disk_books TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.disk_books TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.disk_books TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.disk_books TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.disk_books_as_of(fleet text, "position" bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.disk_books_as_of(fleet text, "position" bigint) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.disk_books_as_of(fleet text, "position" bigint) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.disk_books_as_of(fleet text, "position" bigint) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.disk_books_as_of(fleet text, "position" bigint) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.disk_books_as_of(fleet text, "position" bigint) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.disk_books_as_of(fleet text, "position" bigint) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.disk_books_at(fleet text, moment timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.disk_books_at(fleet text, moment timestamp with time zone) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.disk_books_at(fleet text, moment timestamp with time zone) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.disk_books_at(fleet text, moment timestamp with time zone) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.disk_books_at(fleet text, moment timestamp with time zone) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.disk_books_at(fleet text, moment timestamp with time zone) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.disk_books_at(fleet text, moment timestamp with time zone) TO ledger_signer;

GRANT SELECT ON TABLE ledger.fair_shares TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.fair_shares TO ledger_writer;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.fair_shares TO ledger_decider;
GRANT SELECT ON TABLE ledger.fair_shares TO ledger_publisher;
GRANT SELECT ON TABLE ledger.fair_shares TO ledger_signer;

GRANT SELECT ON TABLE ledger.past_fair_shares TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.past_fair_shares TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.past_fair_shares TO ledger_decider;
GRANT SELECT ON TABLE ledger.past_fair_shares TO ledger_publisher;
GRANT SELECT ON TABLE ledger.past_fair_shares TO ledger_signer;

GRANT SELECT ON TABLE ledger.fair_shares_over_time TO ledger_reader;
GRANT SELECT ON TABLE ledger.fair_shares_over_time TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.fair_shares_over_time TO ledger_writer;
GRANT SELECT ON TABLE ledger.fair_shares_over_time TO ledger_decider;
GRANT SELECT ON TABLE ledger.fair_shares_over_time TO ledger_publisher;
GRANT SELECT ON TABLE ledger.fair_shares_over_time TO ledger_signer;

GRANT SELECT ON TABLE ledger.namespace_weights TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.namespace_weights TO ledger_writer;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.namespace_weights TO ledger_decider;
GRANT SELECT ON TABLE ledger.namespace_weights TO ledger_publisher;
GRANT SELECT ON TABLE ledger.namespace_weights TO ledger_signer;

GRANT SELECT ON TABLE ledger.past_namespace_weights TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.past_namespace_weights TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.past_namespace_weights TO ledger_decider;
GRANT SELECT ON TABLE ledger.past_namespace_weights TO ledger_publisher;
GRANT SELECT ON TABLE ledger.past_namespace_weights TO ledger_signer;

GRANT SELECT ON TABLE ledger.namespace_weights_over_time TO ledger_reader;
GRANT SELECT ON TABLE ledger.namespace_weights_over_time TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.namespace_weights_over_time TO ledger_writer;
GRANT SELECT ON TABLE ledger.namespace_weights_over_time TO ledger_decider;
GRANT SELECT ON TABLE ledger.namespace_weights_over_time TO ledger_publisher;
GRANT SELECT ON TABLE ledger.namespace_weights_over_time TO ledger_signer;

GRANT SELECT ON TABLE ledger.past_shared_totals TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.past_shared_totals TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.past_shared_totals TO ledger_decider;
GRANT SELECT ON TABLE ledger.past_shared_totals TO ledger_publisher;
GRANT SELECT ON TABLE ledger.past_shared_totals TO ledger_signer;

GRANT SELECT ON TABLE ledger.shared_totals TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.shared_totals TO ledger_writer;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.shared_totals TO ledger_decider;
GRANT SELECT ON TABLE ledger.shared_totals TO ledger_publisher;
GRANT SELECT ON TABLE ledger.shared_totals TO ledger_signer;

GRANT SELECT ON TABLE ledger.shared_totals_over_time TO ledger_reader;
GRANT SELECT ON TABLE ledger.shared_totals_over_time TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.shared_totals_over_time TO ledger_writer;
GRANT SELECT ON TABLE ledger.shared_totals_over_time TO ledger_decider;
GRANT SELECT ON TABLE ledger.shared_totals_over_time TO ledger_publisher;
GRANT SELECT ON TABLE ledger.shared_totals_over_time TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.fair_shares TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.fair_shares TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.fair_shares TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.fair_shares TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.fair_shares TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.fair_shares TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.fair_shares_as_of(fleet text, "position" bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.fair_shares_as_of(fleet text, "position" bigint) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.fair_shares_as_of(fleet text, "position" bigint) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.fair_shares_as_of(fleet text, "position" bigint) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.fair_shares_as_of(fleet text, "position" bigint) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.fair_shares_as_of(fleet text, "position" bigint) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.fair_shares_as_of(fleet text, "position" bigint) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.fair_shares_at(fleet text, moment timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.fair_shares_at(fleet text, moment timestamp with time zone) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.fair_shares_at(fleet text, moment timestamp with time zone) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.fair_shares_at(fleet text, moment timestamp with time zone) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.fair_shares_at(fleet text, moment timestamp with time zone) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.fair_shares_at(fleet text, moment timestamp with time zone) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.fair_shares_at(fleet text, moment timestamp with time zone) TO ledger_signer;

GRANT SELECT ON TABLE ledger.open_incidents TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.open_incidents TO ledger_writer;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.open_incidents TO ledger_decider;
GRANT SELECT ON TABLE ledger.open_incidents TO ledger_publisher;
GRANT SELECT ON TABLE ledger.open_incidents TO ledger_signer;

GRANT SELECT ON TABLE ledger.past_open_incidents TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.past_open_incidents TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.past_open_incidents TO ledger_decider;
GRANT SELECT ON TABLE ledger.past_open_incidents TO ledger_publisher;
GRANT SELECT ON TABLE ledger.past_open_incidents TO ledger_signer;

GRANT SELECT ON TABLE ledger.open_incidents_over_time TO ledger_reader;
GRANT SELECT ON TABLE ledger.open_incidents_over_time TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.open_incidents_over_time TO ledger_writer;
GRANT SELECT ON TABLE ledger.open_incidents_over_time TO ledger_decider;
GRANT SELECT ON TABLE ledger.open_incidents_over_time TO ledger_publisher;
GRANT SELECT ON TABLE ledger.open_incidents_over_time TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.open_incidents TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.open_incidents TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.open_incidents TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.open_incidents TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.open_incidents TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.open_incidents TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.open_incidents_as_of(fleet text, "position" bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.open_incidents_as_of(fleet text, "position" bigint) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.open_incidents_as_of(fleet text, "position" bigint) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.open_incidents_as_of(fleet text, "position" bigint) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.open_incidents_as_of(fleet text, "position" bigint) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.open_incidents_as_of(fleet text, "position" bigint) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.open_incidents_as_of(fleet text, "position" bigint) TO ledger_signer;

GRANT SELECT ON TABLE ledger.open_refusals TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.open_refusals TO ledger_writer;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.open_refusals TO ledger_decider;
GRANT SELECT ON TABLE ledger.open_refusals TO ledger_publisher;
GRANT SELECT ON TABLE ledger.open_refusals TO ledger_signer;

GRANT SELECT ON TABLE ledger.past_open_refusals TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.past_open_refusals TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.past_open_refusals TO ledger_decider;
GRANT SELECT ON TABLE ledger.past_open_refusals TO ledger_publisher;
GRANT SELECT ON TABLE ledger.past_open_refusals TO ledger_signer;

GRANT SELECT ON TABLE ledger.open_refusals_over_time TO ledger_reader;
GRANT SELECT ON TABLE ledger.open_refusals_over_time TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.open_refusals_over_time TO ledger_writer;
GRANT SELECT ON TABLE ledger.open_refusals_over_time TO ledger_decider;
GRANT SELECT ON TABLE ledger.open_refusals_over_time TO ledger_publisher;
GRANT SELECT ON TABLE ledger.open_refusals_over_time TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.open_refusals TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.open_refusals TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.open_refusals TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.open_refusals TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.open_refusals TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.open_refusals TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.open_refusals_as_of(fleet text, "position" bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.open_refusals_as_of(fleet text, "position" bigint) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.open_refusals_as_of(fleet text, "position" bigint) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.open_refusals_as_of(fleet text, "position" bigint) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.open_refusals_as_of(fleet text, "position" bigint) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.open_refusals_as_of(fleet text, "position" bigint) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.open_refusals_as_of(fleet text, "position" bigint) TO ledger_signer;

GRANT SELECT ON TABLE ledger.event_effects TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.event_effects TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.event_effects TO ledger_decider;
GRANT SELECT ON TABLE ledger.event_effects TO ledger_publisher;
GRANT SELECT ON TABLE ledger.event_effects TO ledger_signer;

GRANT SELECT ON TABLE ledger.heads_over_time TO ledger_reader;
GRANT SELECT ON TABLE ledger.heads_over_time TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.heads_over_time TO ledger_writer;
GRANT SELECT ON TABLE ledger.heads_over_time TO ledger_decider;
GRANT SELECT ON TABLE ledger.heads_over_time TO ledger_publisher;
GRANT SELECT ON TABLE ledger.heads_over_time TO ledger_signer;

GRANT SELECT ON TABLE ledger.incarnations TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.incarnations TO ledger_writer;
GRANT SELECT ON TABLE ledger.incarnations TO ledger_decider;
GRANT SELECT ON TABLE ledger.incarnations TO ledger_publisher;
GRANT SELECT ON TABLE ledger.incarnations TO ledger_signer;

GRANT SELECT ON TABLE ledger.incarnations_over_time TO ledger_reader;
GRANT SELECT ON TABLE ledger.incarnations_over_time TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.incarnations_over_time TO ledger_writer;
GRANT SELECT ON TABLE ledger.incarnations_over_time TO ledger_decider;
GRANT SELECT ON TABLE ledger.incarnations_over_time TO ledger_publisher;
GRANT SELECT ON TABLE ledger.incarnations_over_time TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.events TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.events TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.events TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.events TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.events TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.events TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.fleets TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.fleets TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.fleets TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.fleets TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.fleets TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.fleets TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.fleets_as_of(fleet text, "position" bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.fleets_as_of(fleet text, "position" bigint) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.fleets_as_of(fleet text, "position" bigint) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.fleets_as_of(fleet text, "position" bigint) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.fleets_as_of(fleet text, "position" bigint) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.fleets_as_of(fleet text, "position" bigint) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.fleets_as_of(fleet text, "position" bigint) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.fleets_at(fleet text, moment timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.fleets_at(fleet text, moment timestamp with time zone) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.fleets_at(fleet text, moment timestamp with time zone) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.fleets_at(fleet text, moment timestamp with time zone) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.fleets_at(fleet text, moment timestamp with time zone) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.fleets_at(fleet text, moment timestamp with time zone) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.fleets_at(fleet text, moment timestamp with time zone) TO ledger_signer;

GRANT SELECT ON TABLE ledger.job_books TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.job_books TO ledger_writer;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.job_books TO ledger_decider;
GRANT SELECT ON TABLE ledger.job_books TO ledger_publisher;
GRANT SELECT ON TABLE ledger.job_books TO ledger_signer;

GRANT SELECT ON TABLE ledger.past_job_books TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.past_job_books TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.past_job_books TO ledger_decider;
GRANT SELECT ON TABLE ledger.past_job_books TO ledger_publisher;
GRANT SELECT ON TABLE ledger.past_job_books TO ledger_signer;

GRANT SELECT ON TABLE ledger.job_books_over_time TO ledger_reader;
GRANT SELECT ON TABLE ledger.job_books_over_time TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.job_books_over_time TO ledger_writer;
GRANT SELECT ON TABLE ledger.job_books_over_time TO ledger_decider;
GRANT SELECT ON TABLE ledger.job_books_over_time TO ledger_publisher;
GRANT SELECT ON TABLE ledger.job_books_over_time TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.job_books TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.job_books TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.job_books TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.job_books TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.job_books TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.job_books TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.job_books_as_of(fleet text, "position" bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.job_books_as_of(fleet text, "position" bigint) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.job_books_as_of(fleet text, "position" bigint) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.job_books_as_of(fleet text, "position" bigint) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.job_books_as_of(fleet text, "position" bigint) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.job_books_as_of(fleet text, "position" bigint) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.job_books_as_of(fleet text, "position" bigint) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.job_books_at(fleet text, moment timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.job_books_at(fleet text, moment timestamp with time zone) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.job_books_at(fleet text, moment timestamp with time zone) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.job_books_at(fleet text, moment timestamp with time zone) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.job_books_at(fleet text, moment timestamp with time zone) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.job_books_at(fleet text, moment timestamp with time zone) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.job_books_at(fleet text, moment timestamp with time zone) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.open_incidents_at(fleet text, moment timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.open_incidents_at(fleet text, moment timestamp with time zone) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.open_incidents_at(fleet text, moment timestamp with time zone) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.open_incidents_at(fleet text, moment timestamp with time zone) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.open_incidents_at(fleet text, moment timestamp with time zone) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.open_incidents_at(fleet text, moment timestamp with time zone) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.open_incidents_at(fleet text, moment timestamp with time zone) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.open_refusals_at(fleet text, moment timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.open_refusals_at(fleet text, moment timestamp with time zone) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.open_refusals_at(fleet text, moment timestamp with time zone) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.open_refusals_at(fleet text, moment timestamp with time zone) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.open_refusals_at(fleet text, moment timestamp with time zone) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.open_refusals_at(fleet text, moment timestamp with time zone) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.open_refusals_at(fleet text, moment timestamp with time zone) TO ledger_signer;

GRANT SELECT ON TABLE ledger.past_placed_by TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.past_placed_by TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.past_placed_by TO ledger_decider;
GRANT SELECT ON TABLE ledger.past_placed_by TO ledger_publisher;
GRANT SELECT ON TABLE ledger.past_placed_by TO ledger_signer;

GRANT SELECT ON TABLE ledger.past_placements TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.past_placements TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.past_placements TO ledger_decider;
GRANT SELECT ON TABLE ledger.past_placements TO ledger_publisher;
GRANT SELECT ON TABLE ledger.past_placements TO ledger_signer;

GRANT SELECT ON TABLE ledger.placed_by TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.placed_by TO ledger_writer;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.placed_by TO ledger_decider;
GRANT SELECT ON TABLE ledger.placed_by TO ledger_publisher;
GRANT SELECT ON TABLE ledger.placed_by TO ledger_signer;

GRANT SELECT ON TABLE ledger.placed_by_over_time TO ledger_reader;
GRANT SELECT ON TABLE ledger.placed_by_over_time TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.placed_by_over_time TO ledger_writer;
GRANT SELECT ON TABLE ledger.placed_by_over_time TO ledger_decider;
GRANT SELECT ON TABLE ledger.placed_by_over_time TO ledger_publisher;
GRANT SELECT ON TABLE ledger.placed_by_over_time TO ledger_signer;

GRANT SELECT ON TABLE ledger.placements TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.placements TO ledger_writer;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.placements TO ledger_decider;
GRANT SELECT ON TABLE ledger.placements TO ledger_publisher;
GRANT SELECT ON TABLE ledger.placements TO ledger_signer;

GRANT SELECT ON TABLE ledger.placements_over_time TO ledger_reader;
GRANT SELECT ON TABLE ledger.placements_over_time TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.placements_over_time TO ledger_writer;
GRANT SELECT ON TABLE ledger.placements_over_time TO ledger_decider;
GRANT SELECT ON TABLE ledger.placements_over_time TO ledger_publisher;
GRANT SELECT ON TABLE ledger.placements_over_time TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.placements TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.placements TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.placements TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.placements TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.placements TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.placements TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.placements_as_of(fleet text, "position" bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.placements_as_of(fleet text, "position" bigint) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.placements_as_of(fleet text, "position" bigint) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.placements_as_of(fleet text, "position" bigint) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.placements_as_of(fleet text, "position" bigint) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.placements_as_of(fleet text, "position" bigint) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.placements_as_of(fleet text, "position" bigint) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.placements_at(fleet text, moment timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.placements_at(fleet text, moment timestamp with time zone) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.placements_at(fleet text, moment timestamp with time zone) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.placements_at(fleet text, moment timestamp with time zone) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.placements_at(fleet text, moment timestamp with time zone) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.placements_at(fleet text, moment timestamp with time zone) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.placements_at(fleet text, moment timestamp with time zone) TO ledger_signer;

GRANT SELECT ON TABLE ledger.ended_proposals TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.ended_proposals TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.ended_proposals TO ledger_decider;
GRANT SELECT ON TABLE ledger.ended_proposals TO ledger_publisher;
GRANT SELECT ON TABLE ledger.ended_proposals TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.proposals TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.proposals TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.proposals TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.proposals TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.proposals TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.proposals TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.proposals_as_of(fleet text, "position" bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.proposals_as_of(fleet text, "position" bigint) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.proposals_as_of(fleet text, "position" bigint) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.proposals_as_of(fleet text, "position" bigint) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.proposals_as_of(fleet text, "position" bigint) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.proposals_as_of(fleet text, "position" bigint) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.proposals_as_of(fleet text, "position" bigint) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.proposals_at(fleet text, moment timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.proposals_at(fleet text, moment timestamp with time zone) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.proposals_at(fleet text, moment timestamp with time zone) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.proposals_at(fleet text, moment timestamp with time zone) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.proposals_at(fleet text, moment timestamp with time zone) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.proposals_at(fleet text, moment timestamp with time zone) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.proposals_at(fleet text, moment timestamp with time zone) TO ledger_signer;

GRANT SELECT ON TABLE ledger.past_queue_books TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.past_queue_books TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.past_queue_books TO ledger_decider;
GRANT SELECT ON TABLE ledger.past_queue_books TO ledger_publisher;
GRANT SELECT ON TABLE ledger.past_queue_books TO ledger_signer;

GRANT SELECT ON TABLE ledger.queue_books TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.queue_books TO ledger_writer;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.queue_books TO ledger_decider;
GRANT SELECT ON TABLE ledger.queue_books TO ledger_publisher;
GRANT SELECT ON TABLE ledger.queue_books TO ledger_signer;

GRANT SELECT ON TABLE ledger.queue_books_over_time TO ledger_reader;
GRANT SELECT ON TABLE ledger.queue_books_over_time TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.queue_books_over_time TO ledger_writer;
GRANT SELECT ON TABLE ledger.queue_books_over_time TO ledger_decider;
GRANT SELECT ON TABLE ledger.queue_books_over_time TO ledger_publisher;
GRANT SELECT ON TABLE ledger.queue_books_over_time TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.queue_books TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.queue_books TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.queue_books TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.queue_books TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.queue_books TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.queue_books TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.queue_books_as_of(fleet text, "position" bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.queue_books_as_of(fleet text, "position" bigint) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.queue_books_as_of(fleet text, "position" bigint) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.queue_books_as_of(fleet text, "position" bigint) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.queue_books_as_of(fleet text, "position" bigint) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.queue_books_as_of(fleet text, "position" bigint) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.queue_books_as_of(fleet text, "position" bigint) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.queue_books_at(fleet text, moment timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.queue_books_at(fleet text, moment timestamp with time zone) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.queue_books_at(fleet text, moment timestamp with time zone) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.queue_books_at(fleet text, moment timestamp with time zone) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.queue_books_at(fleet text, moment timestamp with time zone) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.queue_books_at(fleet text, moment timestamp with time zone) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.queue_books_at(fleet text, moment timestamp with time zone) TO ledger_signer;

GRANT SELECT ON TABLE ledger.ended_refusals TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.ended_refusals TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.ended_refusals TO ledger_decider;
GRANT SELECT ON TABLE ledger.ended_refusals TO ledger_publisher;
GRANT SELECT ON TABLE ledger.ended_refusals TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.refusals TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.refusals TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.refusals TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.refusals TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.refusals TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.refusals TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.refusals_as_of(fleet text, "position" bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.refusals_as_of(fleet text, "position" bigint) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.refusals_as_of(fleet text, "position" bigint) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.refusals_as_of(fleet text, "position" bigint) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.refusals_as_of(fleet text, "position" bigint) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.refusals_as_of(fleet text, "position" bigint) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.refusals_as_of(fleet text, "position" bigint) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.refusals_at(fleet text, moment timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.refusals_at(fleet text, moment timestamp with time zone) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.refusals_at(fleet text, moment timestamp with time zone) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.refusals_at(fleet text, moment timestamp with time zone) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.refusals_at(fleet text, moment timestamp with time zone) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.refusals_at(fleet text, moment timestamp with time zone) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.refusals_at(fleet text, moment timestamp with time zone) TO ledger_signer;

GRANT SELECT ON TABLE ledger.past_running_tasks TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.past_running_tasks TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.past_running_tasks TO ledger_decider;
GRANT SELECT ON TABLE ledger.past_running_tasks TO ledger_publisher;
GRANT SELECT ON TABLE ledger.past_running_tasks TO ledger_signer;

GRANT SELECT ON TABLE ledger.running_tasks TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.running_tasks TO ledger_writer;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.running_tasks TO ledger_decider;
GRANT SELECT ON TABLE ledger.running_tasks TO ledger_publisher;
GRANT SELECT ON TABLE ledger.running_tasks TO ledger_signer;

GRANT SELECT ON TABLE ledger.running_tasks_over_time TO ledger_reader;
GRANT SELECT ON TABLE ledger.running_tasks_over_time TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.running_tasks_over_time TO ledger_writer;
GRANT SELECT ON TABLE ledger.running_tasks_over_time TO ledger_decider;
GRANT SELECT ON TABLE ledger.running_tasks_over_time TO ledger_publisher;
GRANT SELECT ON TABLE ledger.running_tasks_over_time TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.running_tasks TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.running_tasks TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.running_tasks TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.running_tasks TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.running_tasks TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.running_tasks TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.running_tasks_as_of(fleet text, "position" bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.running_tasks_as_of(fleet text, "position" bigint) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.running_tasks_as_of(fleet text, "position" bigint) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.running_tasks_as_of(fleet text, "position" bigint) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.running_tasks_as_of(fleet text, "position" bigint) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.running_tasks_as_of(fleet text, "position" bigint) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.running_tasks_as_of(fleet text, "position" bigint) TO ledger_signer;

REVOKE ALL ON FUNCTION ledger_api.running_tasks_at(fleet text, moment timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger_api.running_tasks_at(fleet text, moment timestamp with time zone) TO ledger_reader;
GRANT ALL ON FUNCTION ledger_api.running_tasks_at(fleet text, moment timestamp with time zone) TO ledger_maintainer;
GRANT ALL ON FUNCTION ledger_api.running_tasks_at(fleet text, moment timestamp with time zone) TO ledger_writer;
GRANT ALL ON FUNCTION ledger_api.running_tasks_at(fleet text, moment timestamp with time zone) TO ledger_decider;
GRANT ALL ON FUNCTION ledger_api.running_tasks_at(fleet text, moment timestamp with time zone) TO ledger_publisher;
GRANT ALL ON FUNCTION ledger_api.running_tasks_at(fleet text, moment timestamp with time zone) TO ledger_signer;

GRANT SELECT ON TABLE ledger.admission_answers TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.admission_answers TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.admission_answers TO ledger_decider;
GRANT SELECT ON TABLE ledger.admission_answers TO ledger_publisher;
GRANT SELECT ON TABLE ledger.admission_answers TO ledger_signer;

GRANT SELECT ON TABLE ledger.append_locks TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.append_locks TO ledger_writer;
GRANT SELECT ON TABLE ledger.append_locks TO ledger_decider;
GRANT SELECT ON TABLE ledger.append_locks TO ledger_publisher;
GRANT SELECT ON TABLE ledger.append_locks TO ledger_signer;

GRANT SELECT ON TABLE ledger.archived_ranges TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.archived_ranges TO ledger_writer;
GRANT SELECT ON TABLE ledger.archived_ranges TO ledger_decider;
GRANT SELECT ON TABLE ledger.archived_ranges TO ledger_publisher;
GRANT SELECT ON TABLE ledger.archived_ranges TO ledger_signer;

GRANT SELECT ON TABLE ledger.bindings TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.bindings TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.bindings TO ledger_decider;
GRANT SELECT ON TABLE ledger.bindings TO ledger_publisher;
GRANT SELECT ON TABLE ledger.bindings TO ledger_signer;

GRANT SELECT ON TABLE ledger.checkpoints TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.checkpoints TO ledger_writer;
GRANT SELECT ON TABLE ledger.checkpoints TO ledger_decider;
GRANT SELECT ON TABLE ledger.checkpoints TO ledger_publisher;
GRANT SELECT,INSERT ON TABLE ledger.checkpoints TO ledger_signer;

GRANT SELECT ON TABLE ledger.deployments TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.deployments TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.deployments TO ledger_decider;
GRANT SELECT ON TABLE ledger.deployments TO ledger_publisher;
GRANT SELECT ON TABLE ledger.deployments TO ledger_signer;

GRANT SELECT ON TABLE ledger.disk_placements TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.disk_placements TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.disk_placements TO ledger_decider;
GRANT SELECT ON TABLE ledger.disk_placements TO ledger_publisher;
GRANT SELECT ON TABLE ledger.disk_placements TO ledger_signer;

GRANT SELECT ON TABLE ledger.divisions TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.divisions TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.divisions TO ledger_decider;
GRANT SELECT ON TABLE ledger.divisions TO ledger_publisher;
GRANT SELECT ON TABLE ledger.divisions TO ledger_signer;

GRANT SELECT ON TABLE ledger.ended_incidents TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.ended_incidents TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.ended_incidents TO ledger_decider;
GRANT SELECT ON TABLE ledger.ended_incidents TO ledger_publisher;
GRANT SELECT ON TABLE ledger.ended_incidents TO ledger_signer;

GRANT SELECT ON TABLE ledger.event_identity TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.event_identity TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.event_identity TO ledger_decider;
GRANT SELECT ON TABLE ledger.event_identity TO ledger_publisher;
GRANT SELECT ON TABLE ledger.event_identity TO ledger_signer;

GRANT SELECT ON TABLE ledger.event_identity_0 TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.event_identity_0 TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.event_identity_0 TO ledger_decider;
GRANT SELECT ON TABLE ledger.event_identity_0 TO ledger_publisher;
GRANT SELECT ON TABLE ledger.event_identity_0 TO ledger_signer;

GRANT SELECT ON TABLE ledger.event_identity_1 TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.event_identity_1 TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.event_identity_1 TO ledger_decider;
GRANT SELECT ON TABLE ledger.event_identity_1 TO ledger_publisher;
GRANT SELECT ON TABLE ledger.event_identity_1 TO ledger_signer;

GRANT SELECT ON TABLE ledger.event_identity_2 TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.event_identity_2 TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.event_identity_2 TO ledger_decider;
GRANT SELECT ON TABLE ledger.event_identity_2 TO ledger_publisher;
GRANT SELECT ON TABLE ledger.event_identity_2 TO ledger_signer;

GRANT SELECT ON TABLE ledger.event_identity_3 TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.event_identity_3 TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.event_identity_3 TO ledger_decider;
GRANT SELECT ON TABLE ledger.event_identity_3 TO ledger_publisher;
GRANT SELECT ON TABLE ledger.event_identity_3 TO ledger_signer;

GRANT SELECT ON TABLE ledger.event_identity_4 TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.event_identity_4 TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.event_identity_4 TO ledger_decider;
GRANT SELECT ON TABLE ledger.event_identity_4 TO ledger_publisher;
GRANT SELECT ON TABLE ledger.event_identity_4 TO ledger_signer;

GRANT SELECT ON TABLE ledger.event_identity_5 TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.event_identity_5 TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.event_identity_5 TO ledger_decider;
GRANT SELECT ON TABLE ledger.event_identity_5 TO ledger_publisher;
GRANT SELECT ON TABLE ledger.event_identity_5 TO ledger_signer;

GRANT SELECT ON TABLE ledger.event_identity_6 TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.event_identity_6 TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.event_identity_6 TO ledger_decider;
GRANT SELECT ON TABLE ledger.event_identity_6 TO ledger_publisher;
GRANT SELECT ON TABLE ledger.event_identity_6 TO ledger_signer;

GRANT SELECT ON TABLE ledger.event_identity_7 TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.event_identity_7 TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.event_identity_7 TO ledger_decider;
GRANT SELECT ON TABLE ledger.event_identity_7 TO ledger_publisher;
GRANT SELECT ON TABLE ledger.event_identity_7 TO ledger_signer;

GRANT SELECT,INSERT ON TABLE ledger.events_000000 TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.events_000000 TO ledger_decider;
GRANT SELECT ON TABLE ledger.events_000000 TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.events_000000 TO ledger_publisher;
GRANT SELECT ON TABLE ledger.events_000000 TO ledger_signer;

GRANT SELECT,INSERT ON TABLE ledger.events_000001 TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.events_000001 TO ledger_decider;
GRANT SELECT ON TABLE ledger.events_000001 TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.events_000001 TO ledger_publisher;
GRANT SELECT ON TABLE ledger.events_000001 TO ledger_signer;

GRANT SELECT ON TABLE ledger.events_default TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.events_default TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.events_default TO ledger_decider;
GRANT SELECT ON TABLE ledger.events_default TO ledger_publisher;
GRANT SELECT ON TABLE ledger.events_default TO ledger_signer;

GRANT USAGE ON SEQUENCE ledger.fleet_numbers TO ledger_writer;

GRANT SELECT ON TABLE ledger.fleet_stops TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.fleet_stops TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.fleet_stops TO ledger_decider;
GRANT SELECT,INSERT ON TABLE ledger.fleet_stops TO ledger_publisher;
GRANT SELECT,INSERT ON TABLE ledger.fleet_stops TO ledger_signer;

GRANT SELECT ON TABLE ledger.geneses TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.geneses TO ledger_writer;
GRANT SELECT ON TABLE ledger.geneses TO ledger_decider;
GRANT SELECT ON TABLE ledger.geneses TO ledger_publisher;
GRANT SELECT ON TABLE ledger.geneses TO ledger_signer;

GRANT SELECT ON TABLE ledger.leases TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.leases TO ledger_writer;
GRANT SELECT,INSERT,UPDATE ON TABLE ledger.leases TO ledger_decider;
GRANT SELECT,INSERT,UPDATE ON TABLE ledger.leases TO ledger_publisher;
GRANT SELECT ON TABLE ledger.leases TO ledger_signer;

GRANT SELECT ON TABLE ledger.node_books TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.node_books TO ledger_writer;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.node_books TO ledger_decider;
GRANT SELECT ON TABLE ledger.node_books TO ledger_publisher;
GRANT SELECT ON TABLE ledger.node_books TO ledger_signer;

GRANT SELECT ON TABLE ledger.partition_epochs TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.partition_epochs TO ledger_writer;
GRANT SELECT ON TABLE ledger.partition_epochs TO ledger_decider;
GRANT SELECT ON TABLE ledger.partition_epochs TO ledger_publisher;
GRANT SELECT ON TABLE ledger.partition_epochs TO ledger_signer;

GRANT SELECT ON TABLE ledger.partition_halts TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.partition_halts TO ledger_writer;
GRANT SELECT ON TABLE ledger.partition_halts TO ledger_decider;
GRANT SELECT ON TABLE ledger.partition_halts TO ledger_publisher;
GRANT SELECT ON TABLE ledger.partition_halts TO ledger_signer;

GRANT SELECT ON TABLE ledger.partition_locks TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.partition_locks TO ledger_writer;
GRANT SELECT ON TABLE ledger.partition_locks TO ledger_decider;
GRANT SELECT ON TABLE ledger.partition_locks TO ledger_publisher;
GRANT SELECT ON TABLE ledger.partition_locks TO ledger_signer;

GRANT SELECT ON TABLE ledger.partition_pins TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.partition_pins TO ledger_writer;
GRANT SELECT ON TABLE ledger.partition_pins TO ledger_decider;
GRANT SELECT ON TABLE ledger.partition_pins TO ledger_publisher;
GRANT SELECT ON TABLE ledger.partition_pins TO ledger_signer;

GRANT SELECT ON TABLE ledger.published TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.published TO ledger_writer;
GRANT SELECT ON TABLE ledger.published TO ledger_decider;
GRANT SELECT,INSERT ON TABLE ledger.published TO ledger_publisher;
GRANT SELECT ON TABLE ledger.published TO ledger_signer;

GRANT SELECT ON TABLE ledger.quarantine TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.quarantine TO ledger_writer;
GRANT SELECT ON TABLE ledger.quarantine TO ledger_decider;
GRANT SELECT ON TABLE ledger.quarantine TO ledger_publisher;
GRANT SELECT ON TABLE ledger.quarantine TO ledger_signer;

GRANT SELECT ON TABLE ledger.quarantine_outcomes TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.quarantine_outcomes TO ledger_writer;
GRANT SELECT ON TABLE ledger.quarantine_outcomes TO ledger_decider;
GRANT SELECT ON TABLE ledger.quarantine_outcomes TO ledger_publisher;
GRANT SELECT ON TABLE ledger.quarantine_outcomes TO ledger_signer;

GRANT SELECT ON TABLE ledger.receipts TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.receipts TO ledger_writer;
GRANT SELECT ON TABLE ledger.receipts TO ledger_decider;
GRANT SELECT ON TABLE ledger.receipts TO ledger_publisher;
GRANT SELECT ON TABLE ledger.receipts TO ledger_signer;

GRANT SELECT ON TABLE ledger.schema_version TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.schema_version TO ledger_writer;
GRANT SELECT ON TABLE ledger.schema_version TO ledger_decider;
GRANT SELECT ON TABLE ledger.schema_version TO ledger_publisher;
GRANT SELECT ON TABLE ledger.schema_version TO ledger_signer;

GRANT SELECT ON TABLE ledger.snapshot_parts TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.snapshot_parts TO ledger_writer;
GRANT SELECT,INSERT,DELETE ON TABLE ledger.snapshot_parts TO ledger_decider;
GRANT SELECT ON TABLE ledger.snapshot_parts TO ledger_publisher;
GRANT SELECT ON TABLE ledger.snapshot_parts TO ledger_signer;

GRANT SELECT ON TABLE ledger.snapshots TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.snapshots TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.snapshots TO ledger_decider;
GRANT SELECT ON TABLE ledger.snapshots TO ledger_publisher;
GRANT SELECT ON TABLE ledger.snapshots TO ledger_signer;

GRANT SELECT ON TABLE ledger.source_bindings TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.source_bindings TO ledger_writer;
GRANT SELECT ON TABLE ledger.source_bindings TO ledger_decider;
GRANT SELECT ON TABLE ledger.source_bindings TO ledger_publisher;
GRANT SELECT ON TABLE ledger.source_bindings TO ledger_signer;

GRANT SELECT ON TABLE ledger.standbys TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.standbys TO ledger_writer;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.standbys TO ledger_decider;
GRANT SELECT ON TABLE ledger.standbys TO ledger_publisher;
GRANT SELECT ON TABLE ledger.standbys TO ledger_signer;

GRANT SELECT ON TABLE ledger.task_moves TO ledger_maintainer;
GRANT SELECT ON TABLE ledger.task_moves TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.task_moves TO ledger_decider;
GRANT SELECT ON TABLE ledger.task_moves TO ledger_publisher;
GRANT SELECT ON TABLE ledger.task_moves TO ledger_signer;

GRANT SELECT ON TABLE ledger.tile_hashes TO ledger_maintainer;
GRANT SELECT,INSERT ON TABLE ledger.tile_hashes TO ledger_writer;
GRANT SELECT,INSERT ON TABLE ledger.tile_hashes TO ledger_decider;
GRANT SELECT ON TABLE ledger.tile_hashes TO ledger_publisher;
GRANT SELECT ON TABLE ledger.tile_hashes TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.allocations TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.allocations TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.allocations TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.allocations TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.allocations TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.allocations TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.bindings TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.bindings TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.bindings TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.bindings TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.bindings TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.bindings TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.candidates TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.candidates TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.candidates TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.candidates TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.candidates TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.candidates TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.capacity_classes TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.capacity_classes TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.capacity_classes TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.capacity_classes TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.capacity_classes TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.capacity_classes TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.checkpoints TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.checkpoints TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.checkpoints TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.checkpoints TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.checkpoints TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.checkpoints TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.conservation TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.conservation TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.conservation TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.conservation TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.conservation TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.conservation TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.deployments TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.deployments TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.deployments TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.deployments TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.deployments TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.deployments TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.disk_placements TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.disk_placements TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.disk_placements TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.disk_placements TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.disk_placements TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.disk_placements TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.divisions TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.divisions TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.divisions TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.divisions TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.divisions TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.divisions TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.evictions TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.evictions TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.evictions TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.evictions TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.evictions TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.evictions TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.incidents TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.incidents TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.incidents TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.incidents TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.incidents TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.incidents TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.leases TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.leases TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.leases TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.leases TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.leases TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.leases TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.movements TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.movements TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.movements TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.movements TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.movements TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.movements TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.node_books TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.node_books TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.node_books TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.node_books TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.node_books TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.node_books TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.partitions TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.partitions TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.partitions TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.partitions TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.partitions TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.partitions TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.proposal_moves TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.proposal_moves TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.proposal_moves TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.proposal_moves TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.proposal_moves TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.proposal_moves TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.quarantine TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.quarantine TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.quarantine TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.quarantine TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.quarantine TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.quarantine TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.schema_version TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.schema_version TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.schema_version TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.schema_version TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.schema_version TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.schema_version TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.snapshots TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.snapshots TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.snapshots TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.snapshots TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.snapshots TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.snapshots TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.steps TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.steps TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.steps TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.steps TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.steps TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.steps TO ledger_signer;

GRANT SELECT ON TABLE ledger_api.stops TO ledger_reader;
GRANT SELECT ON TABLE ledger_api.stops TO ledger_maintainer;
GRANT SELECT ON TABLE ledger_api.stops TO ledger_writer;
GRANT SELECT ON TABLE ledger_api.stops TO ledger_decider;
GRANT SELECT ON TABLE ledger_api.stops TO ledger_publisher;
GRANT SELECT ON TABLE ledger_api.stops TO ledger_signer;
