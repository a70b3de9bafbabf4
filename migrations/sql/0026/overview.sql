-- For the ledger's own fleet nothing is decided: none of its events waits for that.
CREATE VIEW ledger_api.fleets WITH (security_barrier = true) AS
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
       CASE WHEN f.name = '_ledger' THEN 0 ELSE coalesce(e.size, 0) - coalesce(c.through, -1) - 1 END AS undecided,
       ledger.moment(w.recorded_at_micros) AS undecided_since,
       CASE WHEN f.clock = 'wall'
            THEN greatest(0, coalesce(extract(epoch FROM clock_timestamp() - ledger.moment(w.recorded_at_micros)), 0))
                 ::double precision
       END AS lag_seconds,
       (SELECT count(*) FROM ledger.open_refusals o WHERE o.fleet = f.number) AS open_refusals,
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
                      WHERE x.fleet = f.number AND x.position = coalesce(c.through, -1) + 1 AND f.name <> '_ledger'
                      LIMIT 1) w ON true
;;
COMMENT ON VIEW ledger_api.fleets IS
  'A fleet a row: what one log decides for, where its two trees end, how far it is decided.'
;;
COMMENT ON COLUMN ledger_api.fleets.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.fleets.clock IS
  'Where recorded_at comes from: wall (the server''s clock) or event (the time an event carries).'
;;
COMMENT ON COLUMN ledger_api.fleets.created_at IS 'When the fleet was opened here.'
;;
COMMENT ON COLUMN ledger_api.fleets.incarnation IS
  'Which life of the log this is; above 1 only after a restore to an earlier point.'
;;
COMMENT ON COLUMN ledger_api.fleets.events IS 'Number of events in the log; the last position is one less.'
;;
COMMENT ON COLUMN ledger_api.fleets.last_recorded_at IS 'Fleet time of the last event.'
;;
COMMENT ON COLUMN ledger_api.fleets.event_root IS 'Root of the tree over all events, in hex (RFC 6962).'
;;
COMMENT ON COLUMN ledger_api.fleets.decisions IS 'Number of decisions.'
;;
COMMENT ON COLUMN ledger_api.fleets.decision_root IS 'Root of the tree over all decisions, in hex (RFC 6962).'
;;
COMMENT ON COLUMN ledger_api.fleets.decided_through IS
  'Position of the last event that has been decided; null before the first, and of _ledger, for which nothing is decided.'
;;
COMMENT ON COLUMN ledger_api.fleets.undecided IS 'How many events wait to be decided; 0 of _ledger.'
;;
COMMENT ON COLUMN ledger_api.fleets.undecided_since IS
  'Fleet time of the oldest event that waits to be decided; null where none does.'
;;
COMMENT ON COLUMN ledger_api.fleets.lag_seconds IS
  'How long that event has waited, 0 where none does; null on the event clock, which does not say.'
;;
COMMENT ON COLUMN ledger_api.fleets.open_refusals IS 'How many questions are refused now; open_refusals has them.'
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
CREATE VIEW ledger_api.schema_version WITH (security_barrier = true) AS
SELECT v.version_num::text AS version
  FROM ledger.schema_version v
;;
COMMENT ON VIEW ledger_api.schema_version IS
  'One row: which schema this database has. A view or a column that came with a later one is not there yet.'
;;
COMMENT ON COLUMN ledger_api.schema_version.version IS
  'Number of the newest migration, such as 0026: they compare as text.'
;;
