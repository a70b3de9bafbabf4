-- Who was weighed for a decision. Why a cluster was left out of a division its loser says; one that was weighed and got nothing is told as well.
CREATE VIEW ledger_api.candidates WITH (security_barrier = true) AS
SELECT u.*
  FROM (
    SELECT f.name AS fleet,
           d.number,
           coalesce(d.result ->> 'wanted', d.kind) AS stage,
           l.named ->> 0 AS candidate,
           NULL::bigint AS rank,
           NULL::text AS score,
           false AS chosen,
           l.named ->> 1 AS why_not
      FROM ledger.decisions d
      JOIN ledger.seen_fleets f ON f.number = d.fleet
     CROSS JOIN LATERAL jsonb_array_elements(d.reasons #> '{losers,named}') AS l(named)
    UNION ALL
    SELECT f.name, v.number, 'division', v.cluster, NULL, NULL, v.replicas > 0,
           CASE WHEN v.replicas = 0 THEN 'no_share' END
      FROM ledger.divisions v
      JOIN ledger.seen_fleets f ON f.number = v.fleet
     WHERE NOT v.left_out
    UNION ALL
    SELECT f.name, v.number, 'deployment', v.node, NULL, NULL, true, NULL
      FROM ledger.deployments v
      JOIN ledger.seen_fleets f ON f.number = v.fleet
     WHERE v.added > 0
    UNION ALL
    SELECT f.name,
           d.number,
           (step.taken ->> 'replica') || ' ' || stage.name,
           weighed.one ->> 'name',
           weighed.rank,
           weighed.one ->> 'score',
           weighed.rank = 1,
           CASE WHEN weighed.rank > 1 THEN 'outranked' END
      FROM ledger.decisions d
      JOIN ledger.seen_fleets f ON f.number = d.fleet
     CROSS JOIN LATERAL jsonb_array_elements(d.reasons -> 'steps') AS step(taken)
     CROSS JOIN LATERAL (VALUES ('node', step.taken -> 'nodes'), ('disk', step.taken -> 'disks')) AS stage(name, ranking)
     CROSS JOIN LATERAL jsonb_array_elements(stage.ranking) WITH ORDINALITY AS weighed(one, rank)
     WHERE d.kind = 'disk_placement'
    UNION ALL
    SELECT f.name, d.number, (step.taken ->> 'replica') || ' filter', l.named ->> 0, NULL, NULL, false, l.named ->> 1
      FROM ledger.decisions d
      JOIN ledger.seen_fleets f ON f.number = d.fleet
     CROSS JOIN LATERAL jsonb_array_elements(d.reasons -> 'steps') AS step(taken)
     CROSS JOIN LATERAL jsonb_array_elements(step.taken #> '{losers,named}') AS l(named)
     WHERE d.kind = 'disk_placement'
  ) u
;;
COMMENT ON VIEW ledger_api.candidates IS
  'A cluster, node or disk that was weighed for a decision a row, winner or loser; of those who were not even weighed the first 16 are named.'
;;
COMMENT ON COLUMN ledger_api.candidates.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.candidates.number IS 'The decision.'
;;
COMMENT ON COLUMN ledger_api.candidates.stage IS
  'What was chosen: division chooses clusters, deployment nodes; for a replica its name with node, then disk, or filter for who did not come so far.'
;;
COMMENT ON COLUMN ledger_api.candidates.candidate IS 'Name of the cluster, node or disk.'
;;
COMMENT ON COLUMN ledger_api.candidates.rank IS 'Its place among the candidates, where they were ranked.'
;;
COMMENT ON COLUMN ledger_api.candidates.score IS 'Its score as num/den, where they were scored.'
;;
COMMENT ON COLUMN ledger_api.candidates.chosen IS 'Whether it got anything.'
;;
COMMENT ON COLUMN ledger_api.candidates.why_not IS
  'Reason code of a loser, such as unschedulable, with what was compared or who was in the way; no_share where its share of a division came to nothing; null for a winner.'
;;
-- What a decision brought to places and took from them, whatever it placed there.
CREATE VIEW ledger_api.movements WITH (security_barrier = true) AS
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
COMMENT ON VIEW ledger_api.movements IS
  'What a decision brought to a place or took from it a row: replicas, instances, tasks.'
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
COMMENT ON COLUMN ledger_api.movements.thing IS
  'Index of the task or name of the replica on a disk; null where only how many is known.'
;;
COMMENT ON COLUMN ledger_api.movements.cluster IS 'Name of the cluster; empty where the fleet does not name it.'
;;
COMMENT ON COLUMN ledger_api.movements.node IS 'Name of the node; null for a division.'
;;
COMMENT ON COLUMN ledger_api.movements.disk IS 'Name of the disk, where it is one.'
;;
COMMENT ON COLUMN ledger_api.movements.came IS 'How many came there.'
;;
COMMENT ON COLUMN ledger_api.movements.went IS
  'How many left there, or had been lost there since the decision before.'
;;
COMMENT ON COLUMN ledger_api.movements.why IS 'Why that one, where it is told; else which rule applied.'
;;
