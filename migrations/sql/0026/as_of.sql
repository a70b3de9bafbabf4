-- The functions that answer what a view answers, as of a position: the same rows, of another moment. They are
-- spelled so that Postgres sees through them: what is asked of their rows is asked of the tables. The fleet's number
-- is joined with, and not looked up by a subquery: Postgres answers such a one for the first of several fleets that
-- somebody asks for together (LATERAL), and takes the answer for all of them.
DO $$
DECLARE
  state   text;
  columns text;
BEGIN
  FOREACH state IN ARRAY ARRAY['open_refusals', 'open_incidents', 'disk_books', 'job_books', 'queue_books'] LOOP
    SELECT string_agg(format('r.%I', a.attname), ', ' ORDER BY a.attnum) INTO columns
      FROM pg_attribute a
     WHERE a.attrelid = format('ledger_api.%I', state)::regclass AND a.attnum > 1;
    EXECUTE format($f$
      CREATE FUNCTION ledger_api.%1$s_as_of(fleet text, "position" bigint) RETURNS SETOF ledger_api.%1$s
        LANGUAGE sql STABLE
        BEGIN ATOMIC
          SELECT %1$s_as_of.fleet, %2$s
            FROM ledger.seen_fleets f
           CROSS JOIN LATERAL (
              SELECT t.* FROM ledger.%1$s_over_time t
               WHERE t.fleet_number = f.number
                 AND t.fork = ANY (ledger.forks_before(%1$s_as_of."position"))
                 AND t.until_position > %1$s_as_of."position"
              UNION ALL
              SELECT t.* FROM ledger.%1$s_over_time t
               WHERE t.fleet_number = f.number
                 AND t.fork = ANY (ledger.forks_behind(%1$s_as_of."position"))
                 AND t.from_position <= %1$s_as_of."position"
              UNION ALL
              SELECT t.* FROM ledger.%1$s_over_time t
               WHERE t.fleet_number = f.number
                 AND t.fork IS NULL
                 AND t.from_position <= %1$s_as_of."position"
            ) r
           WHERE f.name = %1$s_as_of.fleet AND ledger.is_decided(%1$s_as_of.fleet, %1$s_as_of."position");
        END $f$, state, columns);
  END LOOP;
END
$$
;;
-- Places as they were, and the decisions that were in force for their subjects then. How many rows of a past there
-- are is hardly ever known, and a planner that takes both for few would compare each with each. It cannot do so
-- where all rows of both sides are told: so they are, and what only has a decision is left out behind, in words that
-- do not tell the planner that it could have been left out before.
CREATE FUNCTION ledger_api.placements_as_of(fleet text, "position" bigint)
  RETURNS SETOF ledger_api.placements
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT placements_as_of.fleet, p.kind, p.subject, p.cluster, p.node, p.disk, p.count, p.number, p.from_position
      FROM ledger.seen_fleets f
     CROSS JOIN LATERAL (
        SELECT kind, subject,
               CASE WHEN coalesce(r.count, 0) > 0 THEN r.cluster END AS cluster,
               CASE WHEN coalesce(r.count, 0) > 0 THEN r.node END AS node,
               CASE WHEN coalesce(r.count, 0) > 0 THEN r.disk END AS disk,
               coalesce(r.count, 0) AS count,
               CASE WHEN coalesce(r.count, 0) > 0 THEN b.number END AS number,
               CASE WHEN coalesce(r.count, 0) > 0 THEN r.from_position END AS from_position
        FROM (
          SELECT t.kind, t.subject, t.cluster, t.node, t.disk, t.count, t.from_position FROM ledger.placements_over_time t
           WHERE t.fleet_number = f.number
             AND t.fork = ANY (ledger.forks_before(placements_as_of."position"))
             AND t.until_position > placements_as_of."position"
          UNION ALL
          SELECT t.kind, t.subject, t.cluster, t.node, t.disk, t.count, t.from_position FROM ledger.placements_over_time t
           WHERE t.fleet_number = f.number
             AND t.fork = ANY (ledger.forks_behind(placements_as_of."position"))
             AND t.from_position <= placements_as_of."position"
          UNION ALL
          SELECT t.kind, t.subject, t.cluster, t.node, t.disk, t.count, t.from_position FROM ledger.placements_over_time t
           WHERE t.fleet_number = f.number
             AND t.fork IS NULL
             AND t.from_position <= placements_as_of."position"
        ) r
        FULL JOIN (
          SELECT t.kind, t.subject, t.number FROM ledger.placed_by_over_time t
           WHERE t.fleet_number = f.number
             AND t.fork = ANY (ledger.forks_before(placements_as_of."position"))
             AND t.until_position > placements_as_of."position"
          UNION ALL
          SELECT t.kind, t.subject, t.number FROM ledger.placed_by_over_time t
           WHERE t.fleet_number = f.number
             AND t.fork = ANY (ledger.forks_behind(placements_as_of."position"))
             AND t.from_position <= placements_as_of."position"
          UNION ALL
          SELECT t.kind, t.subject, t.number FROM ledger.placed_by_over_time t
           WHERE t.fleet_number = f.number
             AND t.fork IS NULL
             AND t.from_position <= placements_as_of."position"
        ) b USING (kind, subject)
         WHERE coalesce(r.count, 0) > 0
      ) p
     WHERE f.name = placements_as_of.fleet
       AND ledger.is_decided(placements_as_of.fleet, placements_as_of."position");
  END
;;
CREATE FUNCTION ledger_api.running_tasks_as_of(fleet text, "position" bigint)
  RETURNS SETOF ledger_api.running_tasks
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT running_tasks_as_of.fleet, b.queue, r.namespace, r.job, r.task, r.cluster, r.node, r.cpu, r.memory,
           r.storage, r.number, r.from_position
      FROM ledger.seen_fleets f
     CROSS JOIN LATERAL (
        SELECT t.* FROM ledger.running_tasks_over_time t
         WHERE t.fleet_number = f.number
           AND t.fork = ANY (ledger.forks_before(running_tasks_as_of."position"))
           AND t.until_position > running_tasks_as_of."position"
        UNION ALL
        SELECT t.* FROM ledger.running_tasks_over_time t
         WHERE t.fleet_number = f.number
           AND t.fork = ANY (ledger.forks_behind(running_tasks_as_of."position"))
           AND t.from_position <= running_tasks_as_of."position"
        UNION ALL
        SELECT t.* FROM ledger.running_tasks_over_time t
         WHERE t.fleet_number = f.number
           AND t.fork IS NULL
           AND t.from_position <= running_tasks_as_of."position"
      ) r
      LEFT JOIN ledger_api.job_books_as_of(running_tasks_as_of.fleet, running_tasks_as_of."position") b
             ON b.namespace = r.namespace AND b.job = r.job
     WHERE f.name = running_tasks_as_of.fleet
       AND ledger.is_decided(running_tasks_as_of.fleet, running_tasks_as_of."position");
  END
;;
-- Holdings, weights and totals, each as it was then, and what follows from them.
CREATE FUNCTION ledger_api.fair_shares_as_of(fleet text, "position" bigint)
  RETURNS SETOF ledger_api.fair_shares
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT fair_shares_as_of.fleet, s.queue, s.namespace, s.resource, s.number,
           coalesce(w.weight, 1),
           s.requested, s.deserved, s.deserved_exact, s.allocated,
           ledger.exact_share(
             max(ledger.of_whole(s.resource, s.allocated, t.cpu, t.memory, t.storage))
               OVER (PARTITION BY s.queue, s.namespace),
             ledger.whole_of(t.cpu, t.memory, t.storage) * coalesce(w.weight, 1))
      FROM ledger.seen_fleets f
     CROSS JOIN LATERAL (
        SELECT t.* FROM ledger.fair_shares_over_time t
         WHERE t.fleet_number = f.number
           AND t.fork = ANY (ledger.forks_before(fair_shares_as_of."position"))
           AND t.until_position > fair_shares_as_of."position"
        UNION ALL
        SELECT t.* FROM ledger.fair_shares_over_time t
         WHERE t.fleet_number = f.number
           AND t.fork = ANY (ledger.forks_behind(fair_shares_as_of."position"))
           AND t.from_position <= fair_shares_as_of."position"
        UNION ALL
        SELECT t.* FROM ledger.fair_shares_over_time t
         WHERE t.fleet_number = f.number
           AND t.fork IS NULL
           AND t.from_position <= fair_shares_as_of."position"
      ) s
      LEFT JOIN LATERAL (
        SELECT t.* FROM ledger.namespace_weights_over_time t
         WHERE t.fleet_number = f.number
           AND t.fork = ANY (ledger.forks_before(fair_shares_as_of."position"))
           AND t.until_position > fair_shares_as_of."position"
        UNION ALL
        SELECT t.* FROM ledger.namespace_weights_over_time t
         WHERE t.fleet_number = f.number
           AND t.fork = ANY (ledger.forks_behind(fair_shares_as_of."position"))
           AND t.from_position <= fair_shares_as_of."position"
        UNION ALL
        SELECT t.* FROM ledger.namespace_weights_over_time t
         WHERE t.fleet_number = f.number
           AND t.fork IS NULL
           AND t.from_position <= fair_shares_as_of."position"
      ) w USING (namespace)
     CROSS JOIN LATERAL (
       SELECT max(r.total) FILTER (WHERE r.resource = 'cpu') AS cpu,
              max(r.total) FILTER (WHERE r.resource = 'memory') AS memory,
              max(r.total) FILTER (WHERE r.resource = 'storage') AS storage
         FROM (
           SELECT t.* FROM ledger.shared_totals_over_time t
            WHERE t.fleet_number = f.number
              AND t.fork = ANY (ledger.forks_before(fair_shares_as_of."position"))
              AND t.until_position > fair_shares_as_of."position"
           UNION ALL
           SELECT t.* FROM ledger.shared_totals_over_time t
            WHERE t.fleet_number = f.number
              AND t.fork = ANY (ledger.forks_behind(fair_shares_as_of."position"))
              AND t.from_position <= fair_shares_as_of."position"
           UNION ALL
           SELECT t.* FROM ledger.shared_totals_over_time t
            WHERE t.fleet_number = f.number
              AND t.fork IS NULL
              AND t.from_position <= fair_shares_as_of."position"
         ) r
     ) t
     WHERE f.name = fair_shares_as_of.fleet
       AND ledger.is_decided(fair_shares_as_of.fleet, fair_shares_as_of."position");
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
     WHERE p.fleet = proposals_as_of.fleet AND p.position <= proposals_as_of."position"
       AND ledger.is_decided(proposals_as_of.fleet, proposals_as_of."position");
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
     WHERE r.fleet = refusals_as_of.fleet AND r.position <= refusals_as_of."position"
       AND ledger.is_decided(refusals_as_of.fleet, refusals_as_of."position");
  END
;;
-- Before the first event there is a fleet without events.
CREATE FUNCTION ledger_api.fleets_as_of(fleet text, "position" bigint)
  RETURNS SETOF ledger_api.fleets
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT v.fleet, v.clock, v.created_at,
           (SELECT max(i.incarnation) FROM ledger.incarnations_over_time i
             WHERE i.fleet = v.fleet AND (i.from_size < s.events OR i.from_size = 0)),
           s.events,
           (SELECT e.recorded_at FROM ledger_api.events e WHERE e.fleet = v.fleet AND e.position = s.events - 1),
           (SELECT h.root FROM ledger.heads_over_time h
             WHERE h.fleet = v.fleet AND h.tree = 'events' AND h.size = s.events),
           s.decisions,
           (SELECT h.root FROM ledger.heads_over_time h
             WHERE h.fleet = v.fleet AND h.tree = 'decisions' AND h.size = s.decisions),
           CASE WHEN v.fleet <> '_ledger' THEN nullif(s.events - 1, -1) END,
           0::bigint, NULL::timestamptz, NULL::double precision,
           (SELECT count(*) FROM ledger_api.open_refusals_as_of(fleets_as_of.fleet, fleets_as_of."position")),
           (SELECT count(*) FROM ledger_api.open_incidents_as_of(fleets_as_of.fleet, fleets_as_of."position")),
           NULL::timestamptz, NULL::double precision
      FROM ledger_api.fleets v
     CROSS JOIN LATERAL (
       SELECT greatest(least(v.events - 1, coalesce(fleets_as_of."position", -1)), -1) + 1 AS events,
              coalesce((SELECT d.number + 1 FROM ledger_api.decisions d
                         WHERE d.fleet = v.fleet AND d.position <= fleets_as_of."position"
                         ORDER BY d.position DESC, d.number DESC LIMIT 1), 0) AS decisions
     ) s
     WHERE v.fleet = fleets_as_of.fleet
       AND ledger.is_decided(fleets_as_of.fleet, fleets_as_of."position");
  END
;;
-- Each of them also as of a time.
DO $$
DECLARE state text;
BEGIN
  FOREACH state IN ARRAY ARRAY['placements', 'running_tasks', 'fair_shares', 'open_refusals', 'refusals',
                               'open_incidents', 'proposals', 'fleets', 'disk_books', 'job_books', 'queue_books'] LOOP
    EXECUTE format($f$
      CREATE FUNCTION ledger_api.%1$s_at(fleet text, moment timestamptz) RETURNS SETOF ledger_api.%1$s
        LANGUAGE sql STABLE
        BEGIN ATOMIC
          SELECT t.*
            FROM ledger_api.%1$s_as_of(%1$s_at.fleet, (SELECT ledger.decided_at(%1$s_at.fleet, %1$s_at.moment))) t;
        END $f$, state);
    EXECUTE format('COMMENT ON FUNCTION ledger_api.%1$I(text, bigint) IS %2$L', state || '_as_of',
                   'The view ' || state || ' as of a position: once the event there was decided.');
    EXECUTE format('COMMENT ON FUNCTION ledger_api.%1$I(text, timestamptz) IS %2$L', state || '_at',
                   'The same as of a time: of the last event by then that is decided.');
  END LOOP;
END
$$
;;
-- The decisions of a span. An answer stays the answer: what is not decided yet is no end.
CREATE FUNCTION ledger_api.decisions_between(fleet text, "from" bigint, "to" bigint)
  RETURNS SETOF ledger_api.decisions
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT d.* FROM ledger_api.decisions d
     WHERE d.fleet = decisions_between.fleet
       AND d.position >= decisions_between."from" AND d.position <= decisions_between."to"
       AND ledger.is_decided(decisions_between.fleet, decisions_between."to");
  END
;;
COMMENT ON FUNCTION ledger_api.decisions_between(text, bigint, bigint) IS
  'The decisions that the events from one position to another made due, both included.'
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
             (SELECT ledger.decided_at(decisions_between.fleet, decisions_between."to"))) d;
  END
;;
COMMENT ON FUNCTION ledger_api.decisions_between(text, timestamptz, timestamptz) IS
  'The same of the events that were recorded from one time to another, both included.'
;;
