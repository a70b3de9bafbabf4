CREATE INDEX decisions_of_incidents ON ledger.decisions (fleet, number) WHERE kind = 'incident'
;;
CREATE OR REPLACE VIEW ledger_api.incidents AS
SELECT e.position,
       ledger.moment(e.recorded_at_micros) AS recorded_at,
       e.subject AS address,
       convert_from(e.payload, 'UTF8')::jsonb -> 'data' ->> 'kind' AS kind,
       convert_from(e.payload, 'UTF8')::jsonb -> 'data' ->> 'detail' AS detail,
       f.name AS fleet,
       NULL::bigint AS number
  FROM ledger.events e
  JOIN ledger.fleets f ON f.number = e.fleet
 WHERE f.name = '_ledger' AND e.type = 'ledger.incident.incident.recorded.v1'
UNION ALL
SELECT d.position,
       ledger.moment(e.recorded_at_micros),
       d.subject,
       d.result ->> 'what',
       concat_ws(': ',
                 CASE WHEN d.result ->> 'node' <> d.subject THEN d.result ->> 'node' END,
                 (SELECT string_agg(n.key || ' ' || n.value, ', ' ORDER BY n.key COLLATE "C")
                    FROM jsonb_each_text(d.reasons -> 'numbers') AS n)),
       f.name,
       d.number
  FROM ledger.decisions d
  JOIN ledger.fleets f ON f.number = d.fleet
  JOIN ledger.events e ON e.fleet = d.fleet AND e.position = d.position
 WHERE d.kind = 'incident'
;;
COMMENT ON VIEW ledger_api.incidents IS 'Something that a person should know a row: a partition that stopped, a topic made anew, what contradicts the book of a fleet.'
;;
COMMENT ON COLUMN ledger_api.incidents.position IS 'Position in the log of the fleet.'
;;
COMMENT ON COLUMN ledger_api.incidents.address IS 'What it concerns: a topic/partition, a cluster/node, a namespace/workload@cluster.'
;;
COMMENT ON COLUMN ledger_api.incidents.fleet IS 'Whose log says so: _ledger where it is none of a fleet.'
;;
COMMENT ON COLUMN ledger_api.incidents.number IS 'The decision that recorded it; null where an event did.'
