-- A cluster that had replicas of a workload and takes no part in its next division loses them: that has a row too,
-- so that what came to clusters and what went adds up.
ALTER TABLE ledger.divisions ADD COLUMN left_out boolean NOT NULL DEFAULT false
;;
CREATE OR REPLACE VIEW ledger_api.divisions WITH (security_barrier = true) AS
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
       d.branch,
       d.reasons ->> 'strategy' AS strategy,
       v.available,
       v.left_out
  FROM ledger.divisions v
  JOIN ledger.decisions d ON d.fleet = v.fleet AND d.number = v.number
  JOIN ledger.seen_fleets f ON f.number = v.fleet
;;
COMMENT ON VIEW ledger_api.divisions IS
  'A cluster in a division decision a row: how many replicas it got, and how that number came about; also one that lost what it had.'
;;
COMMENT ON COLUMN ledger_api.divisions.left_out IS
  'True where it had replicas and takes no part any more: it is not ready, removed, not wished for or not selected.'
;;
-- As before; why a cluster was left out its loser says.
CREATE OR REPLACE VIEW ledger_api.candidates WITH (security_barrier = true) AS
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
