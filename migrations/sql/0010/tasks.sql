-- What of the placed amounts tasks of jobs hold: they are recorded one by one, and end by events.
ALTER TABLE ledger.node_books ADD COLUMN tasks jsonb NOT NULL DEFAULT '{}'
;;
CREATE OR REPLACE VIEW ledger_api.conservation AS
WITH placed AS (
  SELECT p.fleet, p.subject, p.cluster, p.node, p.count, d.result
    FROM ledger.placements p
    JOIN ledger.decisions d ON d.fleet = p.fleet AND d.number = p.number
   WHERE p.kind = 'deployment'
),
instances AS (
  -- An event takes the highest numbers of a node, or all: what is left are the lowest.
  SELECT p.fleet, p.cluster, p.node, p.count, p.result,
         p.result -> 'terms' -> (alike.row ->> 1)::integer AS terms,
         number.row::bigint AS instance,
         row_number() OVER (PARTITION BY p.fleet, p.subject, p.node ORDER BY number.row::bigint) AS place
    FROM placed p
   CROSS JOIN LATERAL jsonb_array_elements(p.result -> 'instances') AS alike (row)
   CROSS JOIN LATERAL jsonb_array_elements_text(alike.row -> 2) AS number (row)
   WHERE alike.row ->> 0 = p.node
),
in_force AS (
  SELECT i.fleet, i.cluster, i.node, i.terms, bound.row AS bound
    FROM instances i
    LEFT JOIN LATERAL jsonb_array_elements(i.result -> 'bindings') AS bound (row)
      ON (bound.row ->> 0)::bigint = i.instance
   WHERE i.place <= i.count
),
amounts AS (
  SELECT fleet, cluster, node, 'pods' AS amount, count::numeric AS held FROM placed
  UNION ALL
  SELECT i.fleet, i.cluster, i.node, a.amount, a.held
    FROM in_force i
   CROSS JOIN LATERAL (
     VALUES ('cpu', CASE WHEN (i.terms ->> 'cpu_bind')::boolean THEN (i.terms ->> 'cpu')::numeric END),
            ('memory', (i.terms ->> 'memory')::numeric),
            ('storage', (i.terms ->> 'storage')::numeric),
            ('group ' || nullif(i.bound ->> 2, ''), (i.terms ->> 'memory')::numeric)
   ) AS a (amount, held)
   WHERE a.amount IS NOT NULL
  UNION ALL
  SELECT i.fleet, i.cluster, i.node, 'core ' || (core.row ->> 0), (core.row ->> 1)::numeric
    FROM in_force i
   CROSS JOIN LATERAL jsonb_array_elements(i.bound -> 1) AS core (row)
  UNION ALL
  SELECT i.fleet, i.cluster, i.node, 'device ' || (volume.row ->> 1), (volume.row ->> 2)::numeric
    FROM in_force i
   CROSS JOIN LATERAL jsonb_array_elements(i.bound -> 3) AS volume (row)
),
recorded AS (
  SELECT fleet, cluster, node, amount, sum(held) AS held FROM amounts GROUP BY fleet, cluster, node, amount
),
kept AS (
  SELECT b.fleet, b.cluster, b.node, a.key AS amount,
         a.value::numeric - coalesce((b.tasks ->> a.key)::numeric, 0) AS held
    FROM ledger.node_books b
   CROSS JOIN LATERAL jsonb_each_text(b.placed) AS a
),
tasks AS (
  SELECT p.fleet, p.cluster, p.node, sum(p.count) AS held
    FROM ledger.placements p
   WHERE p.kind = 'allocation'
   GROUP BY p.fleet, p.cluster, p.node
),
tasks_kept AS (
  SELECT b.fleet, b.cluster, b.node, (b.tasks ->> 'pods')::numeric AS held
    FROM ledger.node_books b
   WHERE b.tasks ? 'pods'
),
differences AS (
  SELECT fleet, cluster, node, amount, coalesce(r.held, 0) AS recorded, coalesce(k.held, 0) AS kept
    FROM recorded r
    FULL JOIN kept k USING (fleet, cluster, node, amount)
   WHERE coalesce(r.held, 0) <> coalesce(k.held, 0)
  UNION ALL
  SELECT fleet, cluster, node, 'tasks', coalesce(t.held, 0), coalesce(k.held, 0)
    FROM tasks t
    FULL JOIN tasks_kept k USING (fleet, cluster, node)
   WHERE coalesce(t.held, 0) <> coalesce(k.held, 0)
  UNION ALL
  SELECT fleet, cluster, NULL, 'replicas of ' || subject, coalesce(d.replicas, 0), coalesce(p.count, 0)
    FROM (SELECT p.fleet, p.subject, p.cluster, p.number, p.count
            FROM ledger.placements p WHERE p.kind = 'division') p
    FULL JOIN (SELECT v.fleet, v.namespace || '/' || v.workload AS subject, v.cluster, v.number, v.replicas
                 FROM ledger.divisions v
                WHERE v.replicas > 0
                  AND (v.fleet, v.number) IN (SELECT p.fleet, p.number FROM ledger.placements p
                                               WHERE p.kind = 'division')) d
   USING (fleet, subject, cluster, number)
   WHERE coalesce(d.replicas, 0) <> coalesce(p.count, 0)
)
SELECT f.name AS fleet,
       x.cluster,
       x.node,
       x.amount,
       x.recorded,
       x.kept
  FROM differences x
  JOIN ledger.fleets f ON f.number = x.fleet
;;
COMMENT ON COLUMN ledger_api.conservation.amount IS 'Which amount, as node_books names it; tasks of jobs, counted; or replicas of NAMESPACE/WORKLOAD.'
