CREATE VIEW ledger_api.candidates AS
SELECT f.name AS fleet,
       d.number,
       coalesce(d.result ->> 'wanted', d.kind) AS stage,
       l.named ->> 0 AS candidate,
       NULL::bigint AS rank,
       NULL::text AS score,
       false AS chosen,
       l.named ->> 1 AS why_not
  FROM ledger.decisions d
  JOIN ledger.fleets f ON f.number = d.fleet
 CROSS JOIN LATERAL jsonb_array_elements(d.reasons #> '{losers,named}') AS l(named)
UNION ALL
SELECT f.name, v.number, 'division', v.cluster, NULL, NULL, true, NULL
  FROM ledger.divisions v
  JOIN ledger.fleets f ON f.number = v.fleet
 WHERE v.replicas > 0
UNION ALL
SELECT f.name, v.number, 'deployment', v.node, NULL, NULL, true, NULL
  FROM ledger.deployments v
  JOIN ledger.fleets f ON f.number = v.fleet
 WHERE v.added > 0
;;
COMMENT ON VIEW ledger_api.candidates IS 'A cluster or node that was weighed for a decision a row, winner or loser; of the losers the first 16 are named.'
;;
COMMENT ON COLUMN ledger_api.candidates.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.candidates.number IS 'The decision.'
;;
COMMENT ON COLUMN ledger_api.candidates.stage IS 'What was chosen: division chooses clusters, deployment nodes.'
;;
COMMENT ON COLUMN ledger_api.candidates.candidate IS 'Name of the cluster or node.'
;;
COMMENT ON COLUMN ledger_api.candidates.rank IS 'Its place among the candidates, where they were ranked.'
;;
COMMENT ON COLUMN ledger_api.candidates.score IS 'Its score as num/den, where they were scored.'
;;
COMMENT ON COLUMN ledger_api.candidates.chosen IS 'Whether it got anything.'
;;
COMMENT ON COLUMN ledger_api.candidates.why_not IS 'Reason code of a loser, such as unschedulable; null for a winner.'
