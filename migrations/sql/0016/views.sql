-- As before, and a decision whose event was archived is told as well.
CREATE OR REPLACE VIEW ledger_api.incidents WITH (security_barrier = true) AS
SELECT u.*
  FROM (
    SELECT e.position,
           ledger.moment(e.recorded_at_micros) AS recorded_at,
           e.subject AS address,
           convert_from(e.payload, 'UTF8')::jsonb -> 'data' ->> 'kind' AS kind,
           convert_from(e.payload, 'UTF8')::jsonb -> 'data' ->> 'detail' AS detail,
           f.name AS fleet,
           NULL::bigint AS number
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
           d.number
      FROM ledger.decisions d
      JOIN ledger.seen_fleets f ON f.number = d.fleet
     WHERE d.kind = 'incident'
  ) u
;;
COMMENT ON COLUMN ledger_api.incidents.recorded_at IS 'When it was recorded; null for a decision whose event was archived.'
;;
-- As before, and a cluster that a division weighed and that got nothing is told as well.
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
COMMENT ON VIEW ledger_api.candidates IS 'A cluster, node or disk that was weighed for a decision a row, winner or loser; of those who were not even weighed the first 16 are named.'
;;
COMMENT ON COLUMN ledger_api.candidates.why_not IS 'Reason code of a loser, such as unschedulable, with what was compared or who was in the way; no_share where its share of a division came to nothing; null for a winner.'
;;
