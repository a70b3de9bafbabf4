-- The rows of each table as they are and as they were. Readers have no way to name these, only functions do.
CREATE VIEW ledger.placements_over_time AS
SELECT p.fleet AS fleet_number,
       p.kind,
       p.subject,
       p.cluster,
       nullif(p.node, '') AS node,
       nullif(p.disk, '') AS disk,
       p.count,
       p.number,
       p.since_position,
       p.from_position,
       p.until_position,
       p.fork
  FROM (SELECT o.fleet, o.kind, o.subject, o.cluster, o.node, o.disk, o.count, o.number, o.since_position,
               o.from_position, o.until_position, o.fork FROM ledger.past_placements o
        UNION ALL
        SELECT o.fleet, o.kind, o.subject, o.cluster, o.node, o.disk, o.count, o.number, o.since_position,
               o.from_position, NULL, NULL FROM ledger.placements o) p
 WHERE p.fleet = ANY (ARRAY(SELECT f.number FROM ledger.seen_fleets f))
;;
CREATE VIEW ledger.running_tasks_over_time AS
SELECT t.fleet AS fleet_number,
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
  FROM (SELECT o.fleet, o.namespace, o.job, o.task, o.cluster, o.node, o.cpu, o.memory, o.storage, o.number,
               o.from_position, o.until_position, o.fork FROM ledger.past_running_tasks o
        UNION ALL
        SELECT o.fleet, o.namespace, o.job, o.task, o.cluster, o.node, o.cpu, o.memory, o.storage, o.number,
               o.from_position, NULL, NULL FROM ledger.running_tasks o) t
 WHERE t.fleet = ANY (ARRAY(SELECT f.number FROM ledger.seen_fleets f))
;;
CREATE VIEW ledger.fair_shares_over_time AS
SELECT s.fleet AS fleet_number,
       s.queue,
       s.namespace,
       s.resource,
       s.number,
       s.weight,
       s.requested,
       s.deserved,
       s.deserved_exact,
       s.allocated,
       s.weighted_share,
       s.from_position,
       s.until_position,
       s.fork
  FROM (SELECT o.fleet, o.queue, o.namespace, o.resource, o.number, o.weight, o.requested, o.deserved,
               o.deserved_exact, o.allocated, o.weighted_share,
               o.from_position, o.until_position, o.fork FROM ledger.past_fair_shares o
        UNION ALL
        SELECT o.fleet, o.queue, o.namespace, o.resource, o.number, o.weight, o.requested, o.deserved,
               o.deserved_exact, o.allocated, o.weighted_share,
               o.from_position, NULL, NULL FROM ledger.fair_shares o) s
 WHERE s.fleet = ANY (ARRAY(SELECT f.number FROM ledger.seen_fleets f))
;;
CREATE VIEW ledger.open_refusals_over_time AS
SELECT r.fleet AS fleet_number,
       r.number,
       r.from_position AS position,
       r.wanted AS kind_wanted,
       r.subject,
       r.reason,
       r.waits_for,
       r.from_position,
       r.until_position,
       r.fork
  FROM (SELECT o.fleet, o.number, o.wanted, o.subject, o.reason, o.waits_for,
               o.from_position, o.until_position, o.fork FROM ledger.past_open_refusals o
        UNION ALL
        SELECT o.fleet, o.number, o.wanted, o.subject, o.reason, o.waits_for,
               o.from_position, NULL, NULL FROM ledger.open_refusals o) r
 WHERE r.fleet = ANY (ARRAY(SELECT f.number FROM ledger.seen_fleets f))
;;
CREATE VIEW ledger.disk_books_over_time AS
SELECT b.fleet AS fleet_number,
       b.cluster,
       b.node,
       b.disk,
       b.maximum,
       b.available,
       b.reserved,
       b.scheduled,
       b.maximum - b.reserved - b.scheduled AS free,
       b.from_position,
       b.until_position,
       b.fork
  FROM (SELECT o.fleet, o.cluster, o.node, o.disk, o.maximum, o.available, o.reserved, o.scheduled,
               o.from_position, o.until_position, o.fork FROM ledger.past_disk_books o
        UNION ALL
        SELECT o.fleet, o.cluster, o.node, o.disk, o.maximum, o.available, o.reserved, o.scheduled,
               o.from_position, NULL, NULL FROM ledger.disk_books o) b
 WHERE b.fleet = ANY (ARRAY(SELECT f.number FROM ledger.seen_fleets f))
;;
CREATE VIEW ledger.job_books_over_time AS
SELECT b.fleet AS fleet_number,
       b.namespace,
       b.job,
       b.queue,
       b.tasks,
       b.cpu,
       b.memory,
       b.storage,
       b.from_position,
       b.until_position,
       b.fork
  FROM (SELECT o.fleet, o.namespace, o.job, o.queue, o.tasks, o.cpu, o.memory, o.storage,
               o.from_position, o.until_position, o.fork FROM ledger.past_job_books o
        UNION ALL
        SELECT o.fleet, o.namespace, o.job, o.queue, o.tasks, o.cpu, o.memory, o.storage,
               o.from_position, NULL, NULL FROM ledger.job_books o) b
 WHERE b.fleet = ANY (ARRAY(SELECT f.number FROM ledger.seen_fleets f))
;;
CREATE VIEW ledger.queue_books_over_time AS
SELECT b.fleet AS fleet_number,
       b.queue,
       b.namespace,
       b.tasks,
       b.cpu,
       b.memory,
       b.storage,
       b.from_position,
       b.until_position,
       b.fork
  FROM (SELECT o.fleet, o.queue, o.namespace, o.tasks, o.cpu, o.memory, o.storage,
               o.from_position, o.until_position, o.fork FROM ledger.past_queue_books o
        UNION ALL
        SELECT o.fleet, o.queue, o.namespace, o.tasks, o.cpu, o.memory, o.storage,
               o.from_position, NULL, NULL FROM ledger.queue_books o) b
 WHERE b.fleet = ANY (ARRAY(SELECT f.number FROM ledger.seen_fleets f))
;;
CREATE VIEW ledger.heads_over_time AS
SELECT f.name AS fleet, h.tree, h.size, encode(h.root, 'hex') AS root
  FROM ledger.heads h
  JOIN ledger.seen_fleets f ON f.number = h.fleet
;;
CREATE VIEW ledger.incarnations_over_time AS
SELECT f.name AS fleet, i.incarnation, i.from_size
  FROM ledger.incarnations i
  JOIN ledger.seen_fleets f ON f.number = i.fleet
;;
CREATE VIEW ledger.histories_over_time AS
SELECT f.name AS fleet, h.first
  FROM ledger.histories h
  JOIN ledger.seen_fleets f ON f.number = h.fleet
;;
-- A wrong answer would look like a right one: before what is kept there is none.
CREATE FUNCTION ledger.refuse_position(fleet text, "position" bigint, first bigint) RETURNS boolean
  LANGUAGE plpgsql STABLE AS $$
BEGIN
  RAISE EXCEPTION 'fleet %: what was in force at position % was not kept; it is from % on', fleet, "position", first
    USING ERRCODE = 'LG014';
END
$$
;;
CREATE FUNCTION ledger.is_kept(fleet text, "position" bigint) RETURNS boolean
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT NOT EXISTS (SELECT FROM ledger.histories_over_time h
                        WHERE h.fleet = is_kept.fleet AND h.first > is_kept."position"
                          AND ledger.refuse_position(h.fleet, is_kept."position", h.first));
  END
;;
CREATE FUNCTION ledger_api.position_at(fleet text, moment timestamptz) RETURNS bigint
  LANGUAGE plpgsql STABLE STRICT AS $$
DECLARE
  lowest  bigint := -1;
  highest bigint;
  middle  bigint;
  there   timestamptz;
BEGIN
  SELECT v.events - 1 INTO highest FROM ledger_api.fleets v WHERE v.fleet = position_at.fleet;
  -- Fleet time never runs backwards with position. What was archived is older than what is here.
  WHILE lowest < highest LOOP
    middle := (lowest + highest + 1) / 2;
    SELECT e.recorded_at INTO there FROM ledger_api.events e
     WHERE e.fleet = position_at.fleet AND e.position = middle;
    IF there > moment THEN
      highest := middle - 1;
    ELSE
      lowest := middle;
    END IF;
  END LOOP;
  RETURN nullif(highest, -1);
END
$$
;;
COMMENT ON FUNCTION ledger_api.position_at(text, timestamptz) IS 'Position of the last event by a time; null before the first.'
;;
-- The functions that answer what a view answers, as of a position: the same rows, of another moment. They are
-- spelled so that Postgres sees through them: what is asked of their rows is asked of the tables.
DO $$
DECLARE
  state   text;
  columns text;
BEGIN
  FOREACH state IN ARRAY ARRAY['placements', 'fair_shares', 'open_refusals',
                               'disk_books', 'job_books', 'queue_books'] LOOP
    SELECT string_agg(format('r.%I', a.attname), ', ' ORDER BY a.attnum) INTO columns
      FROM pg_attribute a
     WHERE a.attrelid = format('ledger_api.%I', state)::regclass AND a.attnum > 1;
    EXECUTE format($f$
      CREATE FUNCTION ledger_api.%1$s_as_of(fleet text, "position" bigint) RETURNS SETOF ledger_api.%1$s
        LANGUAGE sql STABLE
        BEGIN ATOMIC
          SELECT %1$s_as_of.fleet, %2$s
            FROM (
              SELECT t.* FROM ledger.%1$s_over_time t
               WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = %1$s_as_of.fleet)
                 AND t.fork = ANY (ledger.forks_before(%1$s_as_of."position"))
                 AND t.until_position > %1$s_as_of."position"
              UNION ALL
              SELECT t.* FROM ledger.%1$s_over_time t
               WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = %1$s_as_of.fleet)
                 AND t.fork = ANY (ledger.forks_behind(%1$s_as_of."position"))
                 AND t.from_position <= %1$s_as_of."position"
              UNION ALL
              SELECT t.* FROM ledger.%1$s_over_time t
               WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = %1$s_as_of.fleet)
                 AND t.fork IS NULL
                 AND t.from_position <= %1$s_as_of."position"
            ) r
           WHERE ledger.is_kept(%1$s_as_of.fleet, %1$s_as_of."position");
        END $f$, state, columns);
  END LOOP;
END
$$
;;
CREATE FUNCTION ledger_api.running_tasks_as_of(fleet text, "position" bigint)
  RETURNS SETOF ledger_api.running_tasks
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT running_tasks_as_of.fleet, b.queue, r.namespace, r.job, r.task, r.cluster, r.node, r.cpu, r.memory,
           r.storage, r.number, r.from_position
      FROM (
        SELECT t.* FROM ledger.running_tasks_over_time t
         WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = running_tasks_as_of.fleet)
           AND t.fork = ANY (ledger.forks_before(running_tasks_as_of."position"))
           AND t.until_position > running_tasks_as_of."position"
        UNION ALL
        SELECT t.* FROM ledger.running_tasks_over_time t
         WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = running_tasks_as_of.fleet)
           AND t.fork = ANY (ledger.forks_behind(running_tasks_as_of."position"))
           AND t.from_position <= running_tasks_as_of."position"
        UNION ALL
        SELECT t.* FROM ledger.running_tasks_over_time t
         WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = running_tasks_as_of.fleet)
           AND t.fork IS NULL
           AND t.from_position <= running_tasks_as_of."position"
      ) r
      LEFT JOIN ledger_api.job_books_as_of(running_tasks_as_of.fleet, running_tasks_as_of."position") b
             ON b.namespace = r.namespace AND b.job = r.job
     WHERE ledger.is_kept(running_tasks_as_of.fleet, running_tasks_as_of."position");
  END
;;
CREATE FUNCTION ledger_api.proposals_as_of(fleet text, "position" bigint)
  RETURNS SETOF ledger_api.proposals
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT p.fleet, p.number, p.position, p.kind, p.subject, p.moves, p.bytes, p.measure, p.score_before,
           p.score_after, p.no_more,
           CASE WHEN p.ended_position > proposals_as_of."position" THEN 'open' ELSE p.state END,
           CASE WHEN p.ended_position <= proposals_as_of."position" THEN p.resolved_by END,
           CASE WHEN p.ended_position <= proposals_as_of."position" THEN p.ended_position END
      FROM ledger_api.proposals p
     WHERE p.fleet = proposals_as_of.fleet AND p.position <= proposals_as_of."position";
  END
;;
CREATE FUNCTION ledger_api.refusals_as_of(fleet text, "position" bigint)
  RETURNS SETOF ledger_api.refusals
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT r.fleet, r.number, r.position, r.kind_wanted, r.subject, r.reason, r.detail,
           r.open OR coalesce(r.ended_position > refusals_as_of."position", false),
           CASE WHEN r.ended_position <= refusals_as_of."position" THEN r.resolved_by END,
           CASE WHEN r.ended_position <= refusals_as_of."position" THEN r.ended_position END
      FROM ledger_api.refusals r
     WHERE r.fleet = refusals_as_of.fleet AND r.position <= refusals_as_of."position";
  END
;;
CREATE FUNCTION ledger_api.fleets_as_of(fleet text, "position" bigint)
  RETURNS SETOF ledger_api.fleets
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT v.fleet, v.clock, v.created_at,
           (SELECT max(i.incarnation) FROM ledger.incarnations_over_time i
             WHERE i.fleet = v.fleet AND i.from_size <= s.events),
           s.events,
           (SELECT e.recorded_at FROM ledger_api.events e WHERE e.fleet = v.fleet AND e.position = s.events - 1),
           (SELECT h.root FROM ledger.heads_over_time h
             WHERE h.fleet = v.fleet AND h.tree = 'events' AND h.size = s.events),
           s.decisions,
           (SELECT h.root FROM ledger.heads_over_time h
             WHERE h.fleet = v.fleet AND h.tree = 'decisions' AND h.size = s.decisions),
           least(v.decided_through, s.events - 1),
           0::bigint, NULL::timestamptz, NULL::double precision,
           (SELECT count(*) FROM ledger_api.open_refusals_as_of(fleets_as_of.fleet, fleets_as_of."position")),
           v.kept_from
      FROM ledger_api.fleets v
     CROSS JOIN LATERAL (
       SELECT least(v.events, fleets_as_of."position" + 1) AS events,
              coalesce((SELECT d.number + 1 FROM ledger_api.decisions d
                         WHERE d.fleet = v.fleet AND d.position <= fleets_as_of."position"
                         ORDER BY d.position DESC, d.number DESC LIMIT 1), 0) AS decisions
     ) s
     WHERE v.fleet = fleets_as_of.fleet;
  END
;;
CREATE FUNCTION ledger_api.decisions_between(fleet text, "from" bigint, "to" bigint)
  RETURNS SETOF ledger_api.decisions
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT d.* FROM ledger_api.decisions d
     WHERE d.fleet = decisions_between.fleet
       AND d.position >= decisions_between."from" AND d.position <= decisions_between."to";
  END
;;
COMMENT ON FUNCTION ledger_api.decisions_between(text, bigint, bigint) IS 'The decisions that the events from one position to another made due, both included.'
;;
-- The same of times: what an event made due that was recorded after the one and by the other.
CREATE FUNCTION ledger_api.decisions_between(fleet text, "from" timestamptz, "to" timestamptz)
  RETURNS SETOF ledger_api.decisions
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT d.*
      FROM ledger_api.decisions_between(
             decisions_between.fleet,
             (SELECT coalesce(ledger_api.position_at(decisions_between.fleet,
                                                     decisions_between."from" - interval '1 microsecond'), -1) + 1),
             (SELECT ledger_api.position_at(decisions_between.fleet, decisions_between."to"))) d;
  END
;;
COMMENT ON FUNCTION ledger_api.decisions_between(text, timestamptz, timestamptz) IS 'The same of the events that were recorded from one time to another, both included.'
;;
-- Each of them also as of a time.
DO $$
DECLARE state text;
BEGIN
  FOREACH state IN ARRAY ARRAY['placements', 'running_tasks', 'fair_shares', 'open_refusals', 'refusals',
                               'proposals', 'fleets', 'disk_books', 'job_books', 'queue_books'] LOOP
    EXECUTE format($f$
      CREATE FUNCTION ledger_api.%1$s_at(fleet text, moment timestamptz) RETURNS SETOF ledger_api.%1$s
        LANGUAGE sql STABLE
        BEGIN ATOMIC
          SELECT t.*
            FROM ledger_api.%1$s_as_of(%1$s_at.fleet,
                                       (SELECT ledger_api.position_at(%1$s_at.fleet, %1$s_at.moment))) t;
        END $f$, state);
    EXECUTE format('COMMENT ON FUNCTION ledger_api.%1$I(text, bigint) IS %2$L', state || '_as_of',
                   'The view ' || state || ' as of a position: once the event there was decided.');
    EXECUTE format('COMMENT ON FUNCTION ledger_api.%1$I(text, timestamptz) IS %2$L', state || '_at',
                   'The same as of a time: of the last event by then.');
  END LOOP;
END
$$
;;
