-- What contradicts the book of a fleet now, each with the decision that recorded it.
CREATE TABLE ledger.open_incidents (
  fleet         integer NOT NULL,
  subject       text NOT NULL,
  what          text NOT NULL,
  node          text NOT NULL,
  number        bigint NOT NULL,
  from_position bigint NOT NULL,
  PRIMARY KEY (fleet, subject, what, node),
  CONSTRAINT open_incidents_number_key UNIQUE (number, fleet)
)
;;
-- When an incident ended: a row once, when it does.
CREATE TABLE ledger.ended_incidents (
  fleet    integer NOT NULL,
  number   bigint NOT NULL,
  position bigint NOT NULL,
  PRIMARY KEY (fleet, number)
)
;;
CALL ledger.protect('ledger.ended_incidents')
;;
-- Which of them are so now, or when they ended. A decision whose event was archived is told as well.
CREATE VIEW ledger_api.incidents WITH (security_barrier = true) AS
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
COMMENT ON VIEW ledger_api.incidents IS
  'Something that a person should know a row: a partition that stopped, a topic made anew, what contradicts the book of a fleet.'
;;
COMMENT ON COLUMN ledger_api.incidents.position IS 'Position in the log of the fleet.'
;;
COMMENT ON COLUMN ledger_api.incidents.recorded_at IS
  'When it was recorded; null for a decision whose event was archived.'
;;
COMMENT ON COLUMN ledger_api.incidents.address IS
  'What it concerns: a topic/partition, a cluster/node, a namespace/workload@cluster, a namespace/quota, the fleet.'
;;
COMMENT ON COLUMN ledger_api.incidents.kind IS 'Kind of incident, one of docs/errors.md.'
;;
COMMENT ON COLUMN ledger_api.incidents.detail IS 'What happened, in words.'
;;
COMMENT ON COLUMN ledger_api.incidents.fleet IS 'Whose log says so: _ledger where it is none of a fleet.'
;;
COMMENT ON COLUMN ledger_api.incidents.number IS 'The decision that recorded it; null where an event did.'
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
COMMENT ON COLUMN ledger_api.open_incidents.address IS
  'What it concerns: a cluster/node, a namespace/workload@cluster, a namespace/quota, the fleet.'
;;
COMMENT ON COLUMN ledger_api.open_incidents.node IS 'Where it is, as cluster/node; what it concerns where it is nowhere.'
;;
