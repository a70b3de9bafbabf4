-- What people see. Names and columns are a contract (docs/sql.md); base tables are not.
CREATE VIEW ledger_api.fleets AS
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
       coalesce(e.size, 0) - coalesce(c.through, -1) - 1 AS undecided
  FROM ledger.fleets f
  LEFT JOIN LATERAL (SELECT h.size, h.root, h.recorded_at_micros FROM ledger.heads h
                      WHERE h.fleet = f.number AND h.tree = 'events'
                      ORDER BY h.size DESC LIMIT 1) e ON true
  LEFT JOIN LATERAL (SELECT h.size, h.root FROM ledger.heads h
                      WHERE h.fleet = f.number AND h.tree = 'decisions'
                      ORDER BY h.size DESC LIMIT 1) d ON true
  LEFT JOIN LATERAL (SELECT max(x.through) AS through FROM ledger.decided x
                      WHERE x.fleet = f.number) c ON true
;;
COMMENT ON VIEW ledger_api.fleets IS 'A fleet a row: what one log decides for, where its two trees end, how far it is decided.'
;;
COMMENT ON COLUMN ledger_api.fleets.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.fleets.clock IS 'Where recorded_at comes from: wall (the server''s clock) or event (the time an event carries).'
;;
COMMENT ON COLUMN ledger_api.fleets.created_at IS 'When the fleet was opened here.'
;;
COMMENT ON COLUMN ledger_api.fleets.incarnation IS 'Which life of the log this is; above 1 only after a restore to an earlier point.'
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
COMMENT ON COLUMN ledger_api.fleets.decided_through IS 'Position of the last event that has been decided; null before the first.'
;;
COMMENT ON COLUMN ledger_api.fleets.undecided IS 'How many events wait to be decided.'
;;
CREATE VIEW ledger_api.events AS
SELECT f.name AS fleet,
       e.position,
       e.id,
       e.source,
       e.type,
       e.subject,
       ledger.moment(e.event_time_micros) AS event_time,
       ledger.moment(e.recorded_at_micros) AS recorded_at,
       e.channel,
       e.topic,
       e.partition,
       CASE WHEN e.channel = 'kafka' THEN e.coordinate END AS kafka_offset,
       CASE WHEN e.position <= f.through
            THEN coalesce((SELECT x.effect FROM ledger.event_effects x
                            WHERE x.fleet = e.fleet AND x.position = e.position), 'applied')
       END AS effect,
       e.payload,
       encode(e.leaf, 'hex') AS leaf
  FROM ledger.events e
  JOIN (SELECT n.number, n.name,
               (SELECT max(d.through) FROM ledger.decided d WHERE d.fleet = n.number) AS through
          FROM ledger.fleets n) f ON f.number = e.fleet
;;
COMMENT ON VIEW ledger_api.events IS 'An event a row, in the one order that counts.'
;;
COMMENT ON COLUMN ledger_api.events.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.events.position IS 'Place in the fleet''s log, from 0, without gaps.'
;;
COMMENT ON COLUMN ledger_api.events.id IS 'The producer''s id; unique with source.'
;;
COMMENT ON COLUMN ledger_api.events.source IS 'Who said so; unique with id.'
;;
COMMENT ON COLUMN ledger_api.events.type IS 'Type and version, such as ledger.cluster.node.upserted.v1.'
;;
COMMENT ON COLUMN ledger_api.events.subject IS 'Key of the object the event speaks of.'
;;
COMMENT ON COLUMN ledger_api.events.event_time IS 'The time the producer wrote; informational, it decides nothing.'
;;
COMMENT ON COLUMN ledger_api.events.recorded_at IS 'Fleet time: when the log took the event; never runs backwards with position.'
;;
COMMENT ON COLUMN ledger_api.events.channel IS 'The way in: kafka, file, http or ledger.'
;;
COMMENT ON COLUMN ledger_api.events.topic IS 'Kafka topic, where it came by Kafka.'
;;
COMMENT ON COLUMN ledger_api.events.partition IS 'Kafka partition, where it came by Kafka.'
;;
COMMENT ON COLUMN ledger_api.events.kafka_offset IS 'Kafka offset, where it came by Kafka.'
;;
COMMENT ON COLUMN ledger_api.events.effect IS 'What folding made of it: applied, stale or no_effect; null until it is decided.'
;;
COMMENT ON COLUMN ledger_api.events.payload IS 'The stored bytes.'
;;
COMMENT ON COLUMN ledger_api.events.leaf IS 'Leaf hash in the event tree, in hex.'
;;
CREATE VIEW ledger_api.decisions AS
SELECT f.name AS fleet,
       d.number,
       d.position,
       d.kind,
       d.subject,
       d.algorithm,
       d.version,
       d.branch,
       d.moved,
       d.previous_number,
       d.result,
       d.reasons,
       encode(d.digest, 'hex') AS digest,
       f.name || '/' || d.incarnation || '/' || d.number AS decision
  FROM ledger.decisions d
  JOIN ledger.fleets f ON f.number = d.fleet
;;
COMMENT ON VIEW ledger_api.decisions IS 'A decision a row: what was decided, from which event, by which rule, and why.'
;;
COMMENT ON COLUMN ledger_api.decisions.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.decisions.number IS 'Place among the fleet''s decisions, from 0, without gaps.'
;;
COMMENT ON COLUMN ledger_api.decisions.position IS 'Position of the event that made it due.'
;;
COMMENT ON COLUMN ledger_api.decisions.kind IS 'division, deployment, capacity_class, allocation, eviction, disk_placement, repair, proposal, incident or refusal.'
;;
COMMENT ON COLUMN ledger_api.decisions.subject IS 'Key of what was decided about.'
;;
COMMENT ON COLUMN ledger_api.decisions.algorithm IS 'The system that answered.'
;;
COMMENT ON COLUMN ledger_api.decisions.version IS 'Its version.'
;;
COMMENT ON COLUMN ledger_api.decisions.branch IS 'Which rule of the system applied, such as keep, exact or redraw.'
;;
COMMENT ON COLUMN ledger_api.decisions.moved IS 'How much changed its place against the previous decision.'
;;
COMMENT ON COLUMN ledger_api.decisions.previous_number IS 'The previous decision about the same subject.'
;;
COMMENT ON COLUMN ledger_api.decisions.result IS 'The answer.'
;;
COMMENT ON COLUMN ledger_api.decisions.reasons IS 'The numbers that let a reader redo it.'
;;
COMMENT ON COLUMN ledger_api.decisions.digest IS 'Leaf hash in the decision tree, in hex.'
;;
COMMENT ON COLUMN ledger_api.decisions.decision IS 'Its name outside this database: fleet/incarnation/number.'
;;
CREATE VIEW ledger_api.divisions AS
SELECT f.name AS fleet,
       v.number,
       d.position,
       v.namespace,
       v.workload,
       v.cluster,
       v.weight,
       v.replicas,
       v.floor,
       v.residual,
       v.previous_replicas,
       d.branch
  FROM ledger.divisions v
  JOIN ledger.decisions d ON d.fleet = v.fleet AND d.number = v.number
  JOIN ledger.fleets f ON f.number = v.fleet
;;
COMMENT ON VIEW ledger_api.divisions IS 'A cluster in a division decision a row: how many replicas it got, and how that number came about.'
;;
COMMENT ON COLUMN ledger_api.divisions.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.divisions.number IS 'The decision.'
;;
COMMENT ON COLUMN ledger_api.divisions.position IS 'Position of the event that made it due.'
;;
COMMENT ON COLUMN ledger_api.divisions.namespace IS 'Namespace of the workload.'
;;
COMMENT ON COLUMN ledger_api.divisions.workload IS 'Name of the workload.'
;;
COMMENT ON COLUMN ledger_api.divisions.cluster IS 'Name of the cluster.'
;;
COMMENT ON COLUMN ledger_api.divisions.weight IS 'The weight it was given.'
;;
COMMENT ON COLUMN ledger_api.divisions.replicas IS 'How many replicas it got.'
;;
COMMENT ON COLUMN ledger_api.divisions.floor IS 'The whole part of its weighted share.'
;;
COMMENT ON COLUMN ledger_api.divisions.residual IS 'Whether it got one of the replicas that the whole parts left over.'
;;
COMMENT ON COLUMN ledger_api.divisions.previous_replicas IS 'What it had before this decision.'
;;
COMMENT ON COLUMN ledger_api.divisions.branch IS 'Which rule applied.'
;;
CREATE VIEW ledger_api.refusals AS
SELECT f.name AS fleet,
       d.number,
       d.position,
       d.result ->> 'wanted' AS kind_wanted,
       d.subject,
       d.result ->> 'reason' AS reason,
       d.reasons -> 'detail' AS detail
  FROM ledger.decisions d
  JOIN ledger.fleets f ON f.number = d.fleet
 WHERE d.kind = 'refusal'
;;
COMMENT ON VIEW ledger_api.refusals IS 'Something that could not be served, with the reason; what was in force before stays in force.'
;;
COMMENT ON COLUMN ledger_api.refusals.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.refusals.number IS 'The decision.'
;;
COMMENT ON COLUMN ledger_api.refusals.position IS 'Position of the event that made it due.'
;;
COMMENT ON COLUMN ledger_api.refusals.kind_wanted IS 'The kind of decision that was asked for.'
;;
COMMENT ON COLUMN ledger_api.refusals.subject IS 'Key of what was asked about.'
;;
COMMENT ON COLUMN ledger_api.refusals.reason IS 'Reason code, such as no_candidate_cluster.'
;;
COMMENT ON COLUMN ledger_api.refusals.detail IS 'The numbers behind the reason.'
;;
CREATE VIEW ledger_api.placements AS
SELECT f.name AS fleet,
       p.kind,
       p.subject,
       p.cluster,
       nullif(p.node, '') AS node,
       nullif(p.disk, '') AS disk,
       p.count,
       p.number,
       p.since_position
  FROM ledger.placements p
  JOIN ledger.fleets f ON f.number = p.fleet
;;
COMMENT ON VIEW ledger_api.placements IS 'What is in force now, a place a row.'
;;
COMMENT ON COLUMN ledger_api.placements.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.placements.kind IS 'The kind of decision that placed it.'
;;
COMMENT ON COLUMN ledger_api.placements.subject IS 'Key of what is placed.'
;;
COMMENT ON COLUMN ledger_api.placements.cluster IS 'Where: the cluster.'
;;
COMMENT ON COLUMN ledger_api.placements.node IS 'Where: the node, where that was decided.'
;;
COMMENT ON COLUMN ledger_api.placements.disk IS 'Where: the disk, where that was decided.'
;;
COMMENT ON COLUMN ledger_api.placements.count IS 'How many are there.'
;;
COMMENT ON COLUMN ledger_api.placements.number IS 'The decision that said so last.'
;;
COMMENT ON COLUMN ledger_api.placements.since_position IS 'Position since which this many are there.'
;;
CREATE VIEW ledger_api.quarantine AS
SELECT q.position,
       q.address,
       q.fleet,
       q.reason,
       q.detail,
       q.source,
       q.id,
       q.type,
       q.subject,
       q.topic,
       q.partition,
       CASE WHEN q.channel = 'kafka' THEN q.coordinate END AS kafka_offset,
       q.value,
       q.quarantined_at,
       o.outcome,
       o.released_position
  FROM ledger.quarantine q
  LEFT JOIN ledger.quarantine_outcomes o ON o.quarantined = q.position
;;
COMMENT ON VIEW ledger_api.quarantine IS 'A message that could not be accepted a row, whole, with its reason and what became of it.'
;;
COMMENT ON COLUMN ledger_api.quarantine.position IS 'Position of its record in the log of fleet _ledger.'
;;
COMMENT ON COLUMN ledger_api.quarantine.address IS 'Where it came from: topic/partition@offset, or file@line.'
;;
COMMENT ON COLUMN ledger_api.quarantine.fleet IS 'The fleet it named, where that could be read.'
;;
COMMENT ON COLUMN ledger_api.quarantine.reason IS 'Reason code, one of docs/errors.md.'
;;
COMMENT ON COLUMN ledger_api.quarantine.detail IS 'What exactly was wrong.'
;;
COMMENT ON COLUMN ledger_api.quarantine.source IS 'The producer, where that could be read.'
;;
COMMENT ON COLUMN ledger_api.quarantine.id IS 'The producer''s id, where that could be read.'
;;
COMMENT ON COLUMN ledger_api.quarantine.type IS 'The type, where that could be read.'
;;
COMMENT ON COLUMN ledger_api.quarantine.subject IS 'The subject, where that could be read.'
;;
COMMENT ON COLUMN ledger_api.quarantine.topic IS 'Kafka topic, where it came by Kafka.'
;;
COMMENT ON COLUMN ledger_api.quarantine.partition IS 'Kafka partition, where it came by Kafka.'
;;
COMMENT ON COLUMN ledger_api.quarantine.kafka_offset IS 'Kafka offset, where it came by Kafka.'
;;
COMMENT ON COLUMN ledger_api.quarantine.value IS 'The bytes as they were received.'
;;
COMMENT ON COLUMN ledger_api.quarantine.quarantined_at IS 'When it was set aside.'
;;
COMMENT ON COLUMN ledger_api.quarantine.outcome IS 'released, discarded, or null while it waits.'
;;
COMMENT ON COLUMN ledger_api.quarantine.released_position IS 'Position of the event it was released as.'
;;
CREATE VIEW ledger_api.incidents AS
SELECT e.position,
       ledger.moment(e.recorded_at_micros) AS recorded_at,
       e.subject AS address,
       convert_from(e.payload, 'UTF8')::jsonb -> 'data' ->> 'kind' AS kind,
       convert_from(e.payload, 'UTF8')::jsonb -> 'data' ->> 'detail' AS detail
  FROM ledger.events e
  JOIN ledger.fleets f ON f.number = e.fleet
 WHERE f.name = '_ledger' AND e.type = 'ledger.incident.incident.recorded.v1'
;;
COMMENT ON VIEW ledger_api.incidents IS 'Something that a person should know a row: a partition that stopped, a topic made anew, a fresh start.'
;;
COMMENT ON COLUMN ledger_api.incidents.position IS 'Position in the log of fleet _ledger.'
;;
COMMENT ON COLUMN ledger_api.incidents.recorded_at IS 'When it was recorded.'
;;
COMMENT ON COLUMN ledger_api.incidents.address IS 'What it concerns, such as topic/partition.'
;;
COMMENT ON COLUMN ledger_api.incidents.kind IS 'Kind of incident, one of docs/errors.md.'
;;
COMMENT ON COLUMN ledger_api.incidents.detail IS 'What happened, in words.'
;;
