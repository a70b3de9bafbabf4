-- As before, and which of them are so now, or when they ended.
CREATE OR REPLACE VIEW ledger_api.incidents WITH (security_barrier = true) AS
SELECT u.*
  FROM (
    SELECT e.position,
           ledger.moment(e.recorded_at_micros) AS recorded_at,
           e.subject AS address,
           convert_from(e.payload, 'UTF8')::jsonb -> 'data' ->> 'kind' AS kind,
           convert_from(e.payload, 'UTF8')::jsonb -> 'data' ->> 'detail' AS detail,
           f.name AS fleet,
           NULL::bigint AS number,
           NULL::boolean AS open,
           NULL::bigint AS ended_position
      FROM ledger.events e
      JOIN ledger.seen_fleets f ON f.number = e.fleet
     WHERE f.name = '_ledger' AND e.type = 'ledger.incident.incident.recorded.v1'
    UNION ALL
    SELECT d.position,
           (SELECT ledger.moment(e.recorded_at_micros) FROM ledger.events e
             WHERE e.fleet = d.fleet AND e.position = d.position),
           d.subject,
           d.result ->> 'what',
           concat_ws(': ',
                     CASE WHEN d.result ->> 'node' <> d.subject THEN d.result ->> 'node' END,
                     (SELECT string_agg(n.key || ' ' || n.value, ', ' ORDER BY n.key COLLATE "C")
                        FROM jsonb_each_text(d.reasons -> 'numbers') AS n)),
           f.name,
           d.number,
           EXISTS (SELECT FROM ledger.open_incidents o WHERE o.fleet = d.fleet AND o.number = d.number),
           (SELECT n.position FROM ledger.ended_incidents n WHERE n.fleet = d.fleet AND n.number = d.number)
      FROM ledger.decisions d
      JOIN ledger.seen_fleets f ON f.number = d.fleet
     WHERE d.kind = 'incident'
  ) u
;;
COMMENT ON COLUMN ledger_api.incidents.open IS
  'Whether it is still so; false of what happened once. Null of partitions and logs, whose present partitions and stops tell.'
;;
COMMENT ON COLUMN ledger_api.incidents.ended_position IS
  'Position of the event with which it was over; null while it is open, and of what happened once.'
;;
CREATE VIEW ledger_api.open_incidents WITH (security_barrier = true) AS
SELECT f.name AS fleet,
       o.number,
       o.from_position AS position,
       o.what AS kind,
       o.subject AS address,
       o.node
  FROM ledger.open_incidents o
  JOIN ledger.seen_fleets f ON f.number = o.fleet
;;
COMMENT ON VIEW ledger_api.open_incidents IS
  'What contradicts the book of a fleet now, a row each; incidents has the numbers.'
;;
COMMENT ON COLUMN ledger_api.open_incidents.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.open_incidents.number IS 'The decision that recorded it.'
;;
COMMENT ON COLUMN ledger_api.open_incidents.position IS 'Position of the event since which it is known.'
;;
COMMENT ON COLUMN ledger_api.open_incidents.kind IS 'Kind of incident, one of docs/errors.md.'
;;
COMMENT ON COLUMN ledger_api.open_incidents.address IS 'What it concerns: a cluster/node, a namespace/workload@cluster.'
;;
COMMENT ON COLUMN ledger_api.open_incidents.node IS 'Where it is, as cluster/node.'
;;
CREATE VIEW ledger.open_incidents_over_time WITH (security_barrier = true) AS
SELECT i.fleet AS fleet_number,
       i.number,
       i.from_position AS position,
       i.what AS kind,
       i.subject AS address,
       i.node,
       i.from_position,
       i.until_position,
       i.fork
  FROM (SELECT o.fleet, o.number, o.what, o.subject, o.node,
               o.from_position, o.until_position, o.fork FROM ledger.past_open_incidents o
        UNION ALL
        SELECT o.fleet, o.number, o.what, o.subject, o.node,
               o.from_position, NULL, NULL FROM ledger.open_incidents o) i
 WHERE i.fleet = ANY (ARRAY(SELECT f.number FROM ledger.seen_fleets f))
;;
CREATE FUNCTION ledger_api.open_incidents_as_of(fleet text, "position" bigint)
  RETURNS SETOF ledger_api.open_incidents
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT open_incidents_as_of.fleet, r.number, r.position, r.kind, r.address, r.node
      FROM (
        SELECT t.* FROM ledger.open_incidents_over_time t
         WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = open_incidents_as_of.fleet)
           AND t.fork = ANY (ledger.forks_before(open_incidents_as_of."position"))
           AND t.until_position > open_incidents_as_of."position"
        UNION ALL
        SELECT t.* FROM ledger.open_incidents_over_time t
         WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = open_incidents_as_of.fleet)
           AND t.fork = ANY (ledger.forks_behind(open_incidents_as_of."position"))
           AND t.from_position <= open_incidents_as_of."position"
        UNION ALL
        SELECT t.* FROM ledger.open_incidents_over_time t
         WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = open_incidents_as_of.fleet)
           AND t.fork IS NULL
           AND t.from_position <= open_incidents_as_of."position"
      ) r
     WHERE ledger.is_kept(open_incidents_as_of.fleet, open_incidents_as_of."position");
  END
;;
COMMENT ON FUNCTION ledger_api.open_incidents_as_of(text, bigint) IS
  'The view open_incidents as of a position: once the event there was decided.'
;;
CREATE FUNCTION ledger_api.open_incidents_at(fleet text, moment timestamptz) RETURNS SETOF ledger_api.open_incidents
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT t.*
      FROM ledger_api.open_incidents_as_of(
             open_incidents_at.fleet,
             (SELECT ledger.decided_at(open_incidents_at.fleet, open_incidents_at.moment))) t;
  END
;;
COMMENT ON FUNCTION ledger_api.open_incidents_at(text, timestamptz) IS
  'The same as of a time: of the last event by then that is decided.'
;;
GRANT SELECT ON ledger.open_incidents_over_time, ledger_api.open_incidents
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
REVOKE EXECUTE ON FUNCTION ledger_api.open_incidents_as_of(text, bigint),
    ledger_api.open_incidents_at(text, timestamptz) FROM PUBLIC
;;
GRANT EXECUTE ON FUNCTION ledger_api.open_incidents_as_of(text, bigint),
    ledger_api.open_incidents_at(text, timestamptz)
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
