-- Whether what is kept of the books is what the decisions in force add up to.
CREATE VIEW ledger_api.conservation WITH (security_barrier = true) AS
WITH placed AS (
  SELECT p.fleet, p.subject, p.cluster, p.node, p.count, d.result
    FROM ledger.placements p
    JOIN ledger.placed_by b ON b.fleet = p.fleet AND b.subject = p.subject AND b.kind = p.kind
    JOIN ledger.decisions d ON d.fleet = b.fleet AND d.number = b.number
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
requests AS (
  SELECT d.fleet, d.number, d.result -> 'request' AS request
    FROM (SELECT DISTINCT fleet, number FROM ledger.running_tasks) t
    JOIN ledger.decisions d ON d.fleet = t.fleet AND d.number = t.number
),
tasks AS (
  SELECT t.fleet, t.namespace, t.job, t.cluster, t.node,
         count(*) AS tasks,
         sum((r.request ->> 'cpu')::numeric) AS cpu,
         sum((r.request ->> 'memory')::numeric) AS memory,
         sum((r.request ->> 'storage')::numeric) AS storage
    FROM ledger.running_tasks t
    JOIN requests r ON r.fleet = t.fleet AND r.number = t.number
   GROUP BY t.fleet, t.namespace, t.job, t.cluster, t.node
),
task_amounts AS (
  SELECT t.fleet, t.cluster, t.node, a.amount, sum(a.held) AS held
    FROM tasks t
   CROSS JOIN LATERAL (
     VALUES ('pods', t.tasks), ('cpu', t.cpu), ('memory', t.memory), ('storage', t.storage)
   ) AS a (amount, held)
   GROUP BY t.fleet, t.cluster, t.node, a.amount
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
  UNION ALL
  SELECT fleet, cluster, node, amount, held FROM task_amounts
),
on_nodes AS (
  SELECT fleet, cluster, node, amount, coalesce(r.held, 0) AS recorded, coalesce(k.held, 0) AS kept
    FROM (SELECT fleet, cluster, node, amount, sum(held) AS held
            FROM amounts GROUP BY fleet, cluster, node, amount) r
    FULL JOIN (SELECT b.fleet, b.cluster, b.node, a.key AS amount, a.value::numeric AS held
                 FROM ledger.node_books b
                CROSS JOIN LATERAL jsonb_each_text(b.placed) AS a) k
      USING (fleet, cluster, node, amount)
),
of_tasks AS (
  SELECT fleet, cluster, node, amount, coalesce(r.held, 0) AS recorded, coalesce(k.held, 0) AS kept
    FROM task_amounts r
    FULL JOIN (SELECT b.fleet, b.cluster, b.node, a.key AS amount, a.value::numeric AS held
                 FROM ledger.node_books b
                CROSS JOIN LATERAL jsonb_each_text(b.tasks) AS a) k
      USING (fleet, cluster, node, amount)
),
task_places AS (
  SELECT fleet, cluster, node, subject, coalesce(r.tasks, 0) AS recorded, coalesce(k.count, 0) AS kept
    FROM (SELECT fleet, cluster, node, namespace || '/' || job AS subject, tasks FROM tasks) r
    FULL JOIN (SELECT p.fleet, p.cluster, p.node, p.subject, p.count
                 FROM ledger.placements p
                 JOIN ledger.placed_by b ON b.fleet = p.fleet AND b.subject = p.subject AND b.kind = p.kind
                WHERE p.kind = 'allocation') k
      USING (fleet, cluster, node, subject)
),
of_jobs AS (
  SELECT fleet, namespace || '/' || job AS subject,
         a.amount, coalesce(a.recorded, 0) AS recorded, coalesce(a.kept, 0) AS kept
    FROM (SELECT fleet, namespace, job, sum(tasks) AS tasks, sum(cpu) AS cpu,
                 sum(memory) AS memory, sum(storage) AS storage
            FROM tasks GROUP BY fleet, namespace, job) r
    FULL JOIN ledger.job_books k USING (fleet, namespace, job)
   CROSS JOIN LATERAL (
     VALUES ('tasks', r.tasks, k.tasks), ('cpu', r.cpu, k.cpu), ('memory', r.memory, k.memory),
            ('storage', r.storage, k.storage)
   ) AS a (amount, recorded, kept)
),
of_queues AS (
  SELECT fleet, queue || '/' || namespace AS subject,
         a.amount, coalesce(a.recorded, 0) AS recorded, coalesce(a.kept, 0) AS kept
    FROM (SELECT t.fleet, b.queue, t.namespace, sum(t.tasks) AS tasks, sum(t.cpu) AS cpu,
                 sum(t.memory) AS memory, sum(t.storage) AS storage
            FROM tasks t
            JOIN ledger.job_books b USING (fleet, namespace, job)
           GROUP BY t.fleet, b.queue, t.namespace) r
    FULL JOIN ledger.queue_books k USING (fleet, queue, namespace)
   CROSS JOIN LATERAL (
     VALUES ('tasks', r.tasks, k.tasks), ('cpu', r.cpu, k.cpu), ('memory', r.memory, k.memory),
            ('storage', r.storage, k.storage)
   ) AS a (amount, recorded, kept)
),
on_disks AS (
  SELECT fleet, cluster, node, disk, coalesce(r.held, 0) AS recorded, coalesce(k.scheduled, 0) AS kept
    FROM (SELECT p.fleet, p.cluster, p.node, p.disk, sum(p.count * (d.result ->> 'size')::numeric) AS held
            FROM ledger.placements p
            JOIN ledger.placed_by b ON b.fleet = p.fleet AND b.subject = p.subject AND b.kind = p.kind
            JOIN ledger.decisions d ON d.fleet = b.fleet AND d.number = b.number
           WHERE p.kind = 'disk_placement'
           GROUP BY p.fleet, p.cluster, p.node, p.disk) r
    FULL JOIN ledger.disk_books k USING (fleet, cluster, node, disk)
),
of_divisions AS (
  SELECT fleet, cluster, subject, coalesce(r.replicas, 0) AS recorded, coalesce(k.count, 0) AS kept
    FROM (SELECT v.fleet, v.namespace || '/' || v.workload AS subject, v.cluster, v.number, v.replicas
            FROM ledger.divisions v
           WHERE v.replicas > 0
             AND (v.fleet, v.number) IN (SELECT b.fleet, b.number FROM ledger.placed_by b
                                          WHERE b.kind = 'division')) r
    FULL JOIN (SELECT p.fleet, p.subject, p.cluster, b.number, p.count
                 FROM ledger.placements p
                 LEFT JOIN ledger.placed_by b ON b.fleet = p.fleet AND b.subject = p.subject AND b.kind = p.kind
                WHERE p.kind = 'division') k
      USING (fleet, subject, cluster, number)
),
short AS (
  SELECT b.fleet, b.cluster, b.node, a.amount, b.over_committed,
         coalesce((b.declared ->> a.amount)::numeric, CASE WHEN a.amount <> 'pods' THEN 0 END)
           - coalesce((b.placed ->> a.amount)::numeric, 0)
           - coalesce((b.seen ->> a.amount)::numeric, 0) AS free
    FROM ledger.node_books b
   CROSS JOIN LATERAL (SELECT jsonb_object_keys(b.declared) AS amount
                       UNION SELECT jsonb_object_keys(b.placed)
                       UNION SELECT jsonb_object_keys(b.seen)) a
   WHERE b.declared IS NOT NULL
),
differences AS (
  SELECT 'node_held' AS finding, fleet, cluster, node, NULL::text AS subject, amount, recorded, kept FROM on_nodes
  UNION ALL
  SELECT 'tasks_held', fleet, cluster, node, NULL, amount, recorded, kept FROM of_tasks
  UNION ALL
  SELECT 'tasks_placed', fleet, cluster, node, subject, 'tasks', recorded, kept FROM task_places
  UNION ALL
  SELECT 'job_used', fleet, NULL, NULL, subject, amount, recorded, kept FROM of_jobs
  UNION ALL
  SELECT 'queue_used', fleet, NULL, NULL, subject, amount, recorded, kept FROM of_queues
  UNION ALL
  SELECT 'disk_scheduled', fleet, cluster, node, disk, 'scheduled', recorded, kept FROM on_disks
  UNION ALL
  SELECT 'replicas_divided', fleet, cluster, NULL, subject, 'replicas', recorded, kept FROM of_divisions
  UNION ALL
  -- An amount below zero is known of its node; where none is, nothing is known.
  SELECT 'free_below_zero', fleet, cluster, node, NULL, amount, free, 0 FROM short
   WHERE free < 0 AND NOT over_committed
  UNION ALL
  SELECT 'over_committed', b.fleet, b.cluster, b.node, NULL, NULL, 0, 1
    FROM ledger.node_books b
   WHERE b.over_committed
     AND NOT EXISTS (SELECT FROM short s
                      WHERE s.fleet = b.fleet AND s.cluster = b.cluster AND s.node = b.node AND s.free < 0)
)
SELECT f.name AS fleet,
       x.cluster,
       x.node,
       x.amount,
       x.recorded,
       x.kept,
       x.finding,
       x.subject
  FROM differences x
  JOIN ledger.seen_fleets f ON f.number = x.fleet
 WHERE x.recorded <> x.kept
;;
COMMENT ON VIEW ledger_api.conservation IS
  'Where the book does not add up, an amount a row: it is empty, or something is wrong.'
;;
COMMENT ON COLUMN ledger_api.conservation.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.conservation.cluster IS
  'Name of the cluster; null where it is a job or a queue that differs.'
;;
COMMENT ON COLUMN ledger_api.conservation.node IS 'Name of the node; null where it is not of one.'
;;
COMMENT ON COLUMN ledger_api.conservation.amount IS
  'Which amount, as node_books names it, or tasks, replicas, scheduled bytes; null where it is none.'
;;
COMMENT ON COLUMN ledger_api.conservation.recorded IS
  'The sum over what the decisions in force record; what is free where that is below zero.'
;;
COMMENT ON COLUMN ledger_api.conservation.kept IS 'What is kept as held: by the decider''s book, or in placements.'
;;
COMMENT ON COLUMN ledger_api.conservation.finding IS 'What does not add up, by its name in docs/errors.md.'
;;
COMMENT ON COLUMN ledger_api.conservation.subject IS
  'The job, the queue/namespace, the workload or the disk; null where it is a node.'
;;
