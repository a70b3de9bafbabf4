-- As before, and how many incidents are open, and what time alone has to do.
CREATE OR REPLACE VIEW ledger_api.fleets WITH (security_barrier = true) AS
SELECT f.name AS fleet,
       f.clock,
       f.created_at,
       (SELECT max(i.incarnation) FROM ledger.incarnations i WHERE i.fleet = f.number) AS incarnation,
       coalesce(e.size, 0) AS events,
       ledger.moment(e.recorded_at_micros) AS last_recorded_at,
       encode(e.root, 'hex') AS event_root,
       coalesce(d.size, 0) AS decisions,
       encode(d.root, 'hex') AS decision_root,
       c.through AS decided_through,
       coalesce(e.size, 0) - coalesce(c.through, -1) - 1 AS undecided,
       ledger.moment(w.recorded_at_micros) AS undecided_since,
       CASE WHEN f.clock = 'wall'
            THEN greatest(0, coalesce(extract(epoch FROM clock_timestamp() - ledger.moment(w.recorded_at_micros)), 0))
                 ::double precision
       END AS lag_seconds,
       (SELECT count(*) FROM ledger.open_refusals o WHERE o.fleet = f.number) AS open_refusals,
       coalesce((SELECT h.first FROM ledger.histories h WHERE h.fleet = f.number), 0) AS kept_from,
       (SELECT count(*) FROM ledger.open_incidents o WHERE o.fleet = f.number) AS open_incidents,
       ledger.moment(c.due_at_micros) AS next_deadline,
       CASE WHEN f.clock = 'wall'
            THEN greatest(0, coalesce(extract(epoch FROM clock_timestamp() - ledger.moment(c.due_at_micros)), 0))
                 ::double precision
       END AS overdue_seconds
  FROM ledger.seen_fleets f
  LEFT JOIN LATERAL (SELECT h.size, h.root, h.recorded_at_micros FROM ledger.heads h
                      WHERE h.fleet = f.number AND h.tree = 'events'
                      ORDER BY h.size DESC LIMIT 1) e ON true
  LEFT JOIN LATERAL (SELECT h.size, h.root FROM ledger.heads h
                      WHERE h.fleet = f.number AND h.tree = 'decisions'
                      ORDER BY h.size DESC LIMIT 1) d ON true
  LEFT JOIN LATERAL (SELECT x.through, x.due_at_micros FROM ledger.decided x
                      WHERE x.fleet = f.number
                      ORDER BY x.through DESC LIMIT 1) c ON true
  LEFT JOIN LATERAL (SELECT x.recorded_at_micros FROM ledger.events x
                      WHERE x.fleet = f.number AND x.position = coalesce(c.through, -1) + 1
                      LIMIT 1) w ON true
;;
COMMENT ON COLUMN ledger_api.fleets.open_incidents IS
  'How many contradictions of its book there are now; open_incidents has them.'
;;
COMMENT ON COLUMN ledger_api.fleets.next_deadline IS
  'Fleet time from which on time alone decides something, by the end of a grace, a wait or a round; null where nothing runs out.'
;;
COMMENT ON COLUMN ledger_api.fleets.overdue_seconds IS
  'How long ago that was, 0 where it is to come; null on the event clock, which does not say.'
;;
CREATE OR REPLACE FUNCTION ledger_api.fleets_as_of(fleet text, "position" bigint)
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
           nullif(s.events - 1, -1),
           0::bigint, NULL::timestamptz, NULL::double precision,
           (SELECT count(*) FROM ledger_api.open_refusals_as_of(fleets_as_of.fleet, fleets_as_of."position")),
           v.kept_from,
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
CREATE OR REPLACE FUNCTION ledger_api.fleets_at(fleet text, moment timestamptz) RETURNS SETOF ledger_api.fleets
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT t.*
      FROM ledger_api.fleets_as_of(fleets_at.fleet, (SELECT ledger.decided_at(fleets_at.fleet, fleets_at.moment))) t;
  END
