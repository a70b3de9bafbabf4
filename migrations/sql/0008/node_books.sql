-- What the decider's book says of a node, amount by amount; derived, kept up by the decider.
CREATE TABLE ledger.node_books (
  fleet    integer NOT NULL,
  cluster  text NOT NULL,
  node     text NOT NULL,
  declared jsonb,
  placed   jsonb NOT NULL,
  seen     jsonb NOT NULL,
  PRIMARY KEY (fleet, cluster, node)
)
;;
CREATE VIEW ledger_api.node_books AS
SELECT f.name AS fleet,
       b.cluster,
       b.node,
       a.amount,
       CASE WHEN b.declared IS NOT NULL
            THEN coalesce((b.declared ->> a.amount)::numeric, CASE WHEN a.amount <> 'pods' THEN 0 END)
       END AS declared,
       coalesce((b.placed ->> a.amount)::numeric, 0) AS placed,
       coalesce((b.seen ->> a.amount)::numeric, 0) AS seen,
       CASE WHEN b.declared IS NOT NULL
            THEN coalesce((b.declared ->> a.amount)::numeric, CASE WHEN a.amount <> 'pods' THEN 0 END)
       END - coalesce((b.placed ->> a.amount)::numeric, 0) - coalesce((b.seen ->> a.amount)::numeric, 0) AS free
  FROM ledger.node_books b
  JOIN ledger.fleets f ON f.number = b.fleet
 CROSS JOIN LATERAL (SELECT jsonb_object_keys(b.declared) AS amount
                     UNION SELECT jsonb_object_keys(b.placed)
                     UNION SELECT jsonb_object_keys(b.seen)) a
;;
COMMENT ON VIEW ledger_api.node_books IS 'An amount of a node a row: what the node declares, what is held there, what is free.'
;;
COMMENT ON COLUMN ledger_api.node_books.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.node_books.cluster IS 'Name of the cluster.'
;;
COMMENT ON COLUMN ledger_api.node_books.node IS 'Name of the node.'
;;
COMMENT ON COLUMN ledger_api.node_books.amount IS 'cpu in milli-cores, memory and storage in bytes, pods; core NAME in pieces, group NAME and device NAME in bytes.'
;;
COMMENT ON COLUMN ledger_api.node_books.declared IS 'What the node declares; null where the node is not known, and for pods where it sets no limit.'
;;
COMMENT ON COLUMN ledger_api.node_books.placed IS 'What decisions in force placed there.'
;;
COMMENT ON COLUMN ledger_api.node_books.seen IS 'What pods that are seen hold there beyond that.'
;;
COMMENT ON COLUMN ledger_api.node_books.free IS 'Declared less placed and seen; below zero where the node is over-committed, and then counted as 0.'
;;
CREATE VIEW ledger_api.conservation AS
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
  SELECT b.fleet, b.cluster, b.node, a.key AS amount, a.value::numeric AS held
    FROM ledger.node_books b
   CROSS JOIN LATERAL jsonb_each_text(b.placed) AS a
),
differences AS (
  SELECT fleet, cluster, node, amount, coalesce(r.held, 0) AS recorded, coalesce(k.held, 0) AS kept
    FROM recorded r
    FULL JOIN kept k USING (fleet, cluster, node, amount)
   WHERE coalesce(r.held, 0) <> coalesce(k.held, 0)
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
COMMENT ON VIEW ledger_api.conservation IS 'Where the book does not add up, an amount a row: it is empty, or something is wrong.'
;;
COMMENT ON COLUMN ledger_api.conservation.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.conservation.cluster IS 'Name of the cluster.'
;;
COMMENT ON COLUMN ledger_api.conservation.node IS 'Name of the node; null where it is the replicas of a cluster that differ.'
;;
COMMENT ON COLUMN ledger_api.conservation.amount IS 'Which amount, as node_books names it, or replicas of NAMESPACE/WORKLOAD.'
;;
COMMENT ON COLUMN ledger_api.conservation.recorded IS 'The sum over what the decisions in force record.'
;;
COMMENT ON COLUMN ledger_api.conservation.kept IS 'What is kept as held: by the decider''s book, or in placements.'
