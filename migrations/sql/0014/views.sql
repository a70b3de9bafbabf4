-- Every view that was made before looks at the fleets that are seen, where it looked at all of them. One that
-- puts others one after the other does so inside: else Postgres takes it apart and asks a reader's conditions
-- of each part first, barrier or not.
DO $$
DECLARE view record;
BEGIN
  FOR view IN SELECT c.relname AS name,
                     regexp_replace(rtrim(pg_get_viewdef(c.oid), ';'),
                                    '\mledger\.fleets\M', 'ledger.seen_fleets', 'g') AS spelled
                FROM pg_class c
               WHERE c.relnamespace = 'ledger_api'::regnamespace AND c.relkind = 'v'
               ORDER BY c.relname LOOP
    EXECUTE format(CASE WHEN view.spelled ~ '\nUNION ALL\n'
                        THEN 'CREATE OR REPLACE VIEW ledger_api.%I AS SELECT u.* FROM (%s) u'
                        ELSE 'CREATE OR REPLACE VIEW ledger_api.%I AS %s' END, view.name, view.spelled);
  END LOOP;
END
$$
;;
CREATE OR REPLACE VIEW ledger_api.fleets AS
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
       coalesce((SELECT h.first FROM ledger.histories h WHERE h.fleet = f.number), 0) AS kept_from
  FROM ledger.seen_fleets f
  LEFT JOIN LATERAL (SELECT h.size, h.root, h.recorded_at_micros FROM ledger.heads h
                      WHERE h.fleet = f.number AND h.tree = 'events'
                      ORDER BY h.size DESC LIMIT 1) e ON true
  LEFT JOIN LATERAL (SELECT h.size, h.root FROM ledger.heads h
                      WHERE h.fleet = f.number AND h.tree = 'decisions'
                      ORDER BY h.size DESC LIMIT 1) d ON true
  LEFT JOIN LATERAL (SELECT max(x.through) AS through FROM ledger.decided x
                      WHERE x.fleet = f.number) c ON true
  LEFT JOIN LATERAL (SELECT x.recorded_at_micros FROM ledger.events x
                      WHERE x.fleet = f.number AND x.position = coalesce(c.through, -1) + 1
                      LIMIT 1) w ON true
;;
COMMENT ON COLUMN ledger_api.fleets.kept_from IS 'First position for which the functions AS OF a position answer: 0, unless it was decided for before such were.'
;;
CREATE OR REPLACE VIEW ledger_api.decisions AS
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
       f.name || '/' || d.incarnation || '/' || d.number AS decision,
       d.record,
       (SELECT ledger.moment(e.recorded_at_micros) FROM ledger.events e
         WHERE e.fleet = d.fleet AND e.position = d.position) AS recorded_at,
       (SELECT e.type FROM ledger.events e WHERE e.fleet = d.fleet AND e.position = d.position) AS event_type,
       (SELECT e.subject FROM ledger.events e WHERE e.fleet = d.fleet AND e.position = d.position) AS event_subject
  FROM ledger.decisions d
  JOIN ledger.seen_fleets f ON f.number = d.fleet
;;
COMMENT ON COLUMN ledger_api.decisions.recorded_at IS 'Fleet time of the event that made it due; null where that was archived.'
;;
COMMENT ON COLUMN ledger_api.decisions.event_type IS 'Type of that event.'
;;
COMMENT ON COLUMN ledger_api.decisions.event_subject IS 'Key of the object that the event speaks of.'
;;
CREATE OR REPLACE VIEW ledger_api.evictions AS
SELECT f.name AS fleet,
       t.number,
       d.position,
       t.round,
       t.queue,
       t.namespace,
       t.job,
       t.task,
       t.cluster,
       t.node,
       t.share,
       t.reason,
       (SELECT taker.one ->> 'job'
          FROM jsonb_array_elements(d.reasons -> 'takers') WITH ORDINALITY AS taker(one, place)
         WHERE (d.result -> 'places' -> (taker.place::integer - 1) ->> 0)::bigint = t.task
         LIMIT 1) AS taker
  FROM ledger.task_moves t
  JOIN ledger.decisions d ON d.fleet = t.fleet AND d.number = t.number
  JOIN ledger.seen_fleets f ON f.number = t.fleet
 WHERE t.kind = 'eviction'
;;
COMMENT ON COLUMN ledger_api.evictions.taker IS 'The job that the room was made for, as namespace/job.'
;;
CREATE OR REPLACE VIEW ledger_api.open_refusals AS
SELECT f.name AS fleet,
       o.number,
       o.from_position AS position,
       o.wanted AS kind_wanted,
       o.subject,
       o.reason,
       o.waits_for
  FROM ledger.open_refusals o
  JOIN ledger.seen_fleets f ON f.number = o.fleet
;;
CREATE OR REPLACE VIEW ledger_api.running_tasks AS
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
       t.from_position AS position
  FROM ledger.running_tasks t
  JOIN ledger.seen_fleets f ON f.number = t.fleet
  LEFT JOIN ledger.job_books b ON b.fleet = t.fleet AND b.namespace = t.namespace AND b.job = t.job
;;
CREATE VIEW ledger_api.job_books AS
SELECT f.name AS fleet,
       b.namespace,
       b.job,
       b.queue,
       b.tasks,
       b.cpu,
       b.memory,
       b.storage
  FROM ledger.job_books b
  JOIN ledger.seen_fleets f ON f.number = b.fleet
;;
COMMENT ON VIEW ledger_api.job_books IS 'A job a row: what its tasks hold now. One whose tasks hold nothing has no row.'
;;
COMMENT ON COLUMN ledger_api.job_books.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.job_books.namespace IS 'Namespace of the job.'
;;
COMMENT ON COLUMN ledger_api.job_books.job IS 'Name of the job.'
;;
COMMENT ON COLUMN ledger_api.job_books.queue IS 'The queue that it is in now.'
;;
COMMENT ON COLUMN ledger_api.job_books.tasks IS 'How many tasks run.'
;;
COMMENT ON COLUMN ledger_api.job_books.cpu IS 'Milli-cores that they hold.'
;;
COMMENT ON COLUMN ledger_api.job_books.memory IS 'Bytes of memory that they hold.'
;;
COMMENT ON COLUMN ledger_api.job_books.storage IS 'Bytes of storage that they hold.'
;;
CREATE VIEW ledger_api.checkpoints AS
SELECT f.name AS fleet,
       c.incarnation,
       c.tree,
       c.size,
       encode(c.root, 'hex') AS root,
       convert_from(c.note, 'UTF8') AS note,
       c.signed_at
  FROM ledger.checkpoints c
  JOIN ledger.seen_fleets f ON f.number = c.fleet
;;
COMMENT ON VIEW ledger_api.checkpoints IS 'What the signer signed of the trees of a fleet, a note a row.'
;;
COMMENT ON COLUMN ledger_api.checkpoints.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.checkpoints.incarnation IS 'Which life of its log.'
;;
COMMENT ON COLUMN ledger_api.checkpoints.tree IS 'events, decisions, or both for the note that binds the two.'
;;
COMMENT ON COLUMN ledger_api.checkpoints.size IS 'How many leaves the tree had.'
;;
COMMENT ON COLUMN ledger_api.checkpoints.root IS 'Its root, in hex (RFC 6962).'
;;
COMMENT ON COLUMN ledger_api.checkpoints.note IS 'The signed note (C2SP), as it is published.'
;;
COMMENT ON COLUMN ledger_api.checkpoints.signed_at IS 'When it was stored.'
;;
CREATE VIEW ledger_api.schema_version AS
SELECT v.version_num::text AS version
  FROM ledger.schema_version v
;;
COMMENT ON VIEW ledger_api.schema_version IS 'One row: which schema this database has. A view or a column that came with a later one is not there yet.'
;;
COMMENT ON COLUMN ledger_api.schema_version.version IS 'Number of the newest migration, such as 0014: they compare as text.'
;;
-- What a decision stands on, without JSON: each number with its name.
CREATE VIEW ledger_api.steps AS
SELECT f.name AS fleet,
       d.number,
       d.position,
       d.kind,
       d.subject,
       told.step,
       told.name,
       told.value
  FROM ledger.decisions d
  JOIN ledger.seen_fleets f ON f.number = d.fleet
 CROSS JOIN LATERAL (
   WITH RECURSIVE walk (places, names, value) AS (
     SELECT '{}'::bigint[], '{}'::text[], d.reasons
     UNION ALL
     SELECT w.places || one.place, w.names || one.name, one.value
       FROM walk w
      CROSS JOIN LATERAL (
        SELECT o.place, o.name, o.value
          FROM jsonb_each(CASE WHEN jsonb_typeof(w.value) = 'object' THEN w.value END)
               WITH ORDINALITY AS o (name, value, place)
        UNION ALL
        SELECT a.place, a.place::text, a.value
          FROM jsonb_array_elements(CASE WHEN jsonb_typeof(w.value) = 'array' THEN w.value END)
               WITH ORDINALITY AS a (value, place)
      ) one
   )
   SELECT row_number() OVER (ORDER BY w.places) AS step,
          array_to_string(w.names, '.') AS name,
          w.value #>> '{}' AS value
     FROM walk w
    WHERE jsonb_typeof(w.value) NOT IN ('object', 'array')
 ) told
;;
COMMENT ON VIEW ledger_api.steps IS 'A number or a word that a decision stands on a row, in order: what reasons says, without JSON.'
;;
COMMENT ON COLUMN ledger_api.steps.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.steps.number IS 'The decision.'
;;
COMMENT ON COLUMN ledger_api.steps.position IS 'Position of the event that made it due.'
;;
COMMENT ON COLUMN ledger_api.steps.kind IS 'Kind of the decision.'
;;
COMMENT ON COLUMN ledger_api.steps.subject IS 'Key of what was decided about.'
;;
COMMENT ON COLUMN ledger_api.steps.step IS 'Its place among those of the decision, from 1.'
;;
COMMENT ON COLUMN ledger_api.steps.name IS 'What it is, from the whole to the part, such as losers.counts.unready; what stands in a list has its place, from 1.'
;;
COMMENT ON COLUMN ledger_api.steps.value IS 'The number or the word; null where there is none.'
;;
CREATE VIEW ledger_api.movements AS
SELECT f.name AS fleet,
       d.number,
       d.position,
       (SELECT ledger.moment(e.recorded_at_micros) FROM ledger.events e
         WHERE e.fleet = d.fleet AND e.position = d.position) AS recorded_at,
       d.kind,
       d.subject,
       m.thing,
       m.cluster,
       m.node,
       m.disk,
       m.came,
       m.went,
       coalesce(m.why, d.branch) AS why
  FROM ledger.decisions d
  JOIN ledger.seen_fleets f ON f.number = d.fleet
 CROSS JOIN LATERAL (
   SELECT NULL::text AS thing, v.cluster, NULL::text AS node, NULL::text AS disk,
          greatest(v.replicas - v.previous_replicas, 0) AS came,
          greatest(v.previous_replicas - v.replicas, 0) AS went, NULL::text AS why
     FROM ledger.divisions v
    WHERE d.kind = 'division' AND v.fleet = d.fleet AND v.number = d.number
      AND v.replicas <> v.previous_replicas
   UNION ALL
   SELECT NULL, v.cluster, v.node, NULL, v.added, v.removed, NULL
     FROM ledger.deployments v
    WHERE d.kind = 'deployment' AND v.fleet = d.fleet AND v.number = d.number
      AND (v.added > 0 OR v.removed > 0)
   UNION ALL
   SELECT t.task::text, t.cluster, t.node, NULL,
          CASE t.kind WHEN 'allocation' THEN 1 ELSE 0 END, CASE t.kind WHEN 'eviction' THEN 1 ELSE 0 END, t.reason
     FROM ledger.task_moves t
    WHERE d.kind IN ('allocation', 'eviction') AND t.fleet = d.fleet AND t.number = d.number
   UNION ALL
   SELECT p.replica, p.cluster, p.node, p.disk, 1, 0, p.why
     FROM ledger.disk_placements p
    WHERE d.kind = 'disk_placement' AND p.fleet = d.fleet AND p.number = d.number
   UNION ALL
   -- A node that is released is told as cluster/node, or as node where the fleet names no clusters.
   SELECT gone.one ->> 'replica',
          CASE WHEN gone.one ->> 'node' LIKE '%/%' THEN split_part(gone.one ->> 'node', '/', 1) ELSE '' END,
          CASE WHEN gone.one ->> 'node' LIKE '%/%' THEN split_part(gone.one ->> 'node', '/', 2) ELSE gone.one ->> 'node' END,
          gone.one ->> 'disk', 0, 1, gone.one ->> 'why'
     FROM jsonb_array_elements(CASE WHEN d.kind = 'disk_placement' THEN d.reasons -> 'released' END) AS gone (one)
 ) m
 WHERE d.kind IN ('division', 'deployment', 'allocation', 'eviction', 'disk_placement')
;;
COMMENT ON VIEW ledger_api.movements IS 'What a decision brought to a place or took from it a row: replicas, instances, tasks.'
;;
COMMENT ON COLUMN ledger_api.movements.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.movements.number IS 'The decision.'
;;
COMMENT ON COLUMN ledger_api.movements.position IS 'Position of the event that made it due.'
;;
COMMENT ON COLUMN ledger_api.movements.recorded_at IS 'Fleet time of that event; null where it was archived.'
;;
COMMENT ON COLUMN ledger_api.movements.kind IS 'division, deployment, allocation, eviction or disk_placement.'
;;
COMMENT ON COLUMN ledger_api.movements.subject IS 'Key of what was decided about.'
;;
COMMENT ON COLUMN ledger_api.movements.thing IS 'Index of the task or name of the replica on a disk; null where only how many is known.'
;;
COMMENT ON COLUMN ledger_api.movements.cluster IS 'Name of the cluster; empty where the fleet does not name it.'
;;
COMMENT ON COLUMN ledger_api.movements.node IS 'Name of the node; null for a division.'
;;
COMMENT ON COLUMN ledger_api.movements.disk IS 'Name of the disk, where it is one.'
;;
COMMENT ON COLUMN ledger_api.movements.came IS 'How many came there.'
;;
COMMENT ON COLUMN ledger_api.movements.went IS 'How many left there, or had been lost there since the decision before.'
;;
COMMENT ON COLUMN ledger_api.movements.why IS 'Why that one, where it is told; else which rule applied.'
;;
