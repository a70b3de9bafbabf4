-- What the decider's book says of a node, amount by amount; derived, kept up by the decider. `tasks` is what of the
-- placed amounts tasks of jobs hold: they are recorded one by one, and end by events. `over_committed` is whether the
-- decider knows that the node declares less than it holds.
CREATE TABLE ledger.node_books (
  fleet          integer NOT NULL,
  cluster        text NOT NULL,
  node           text NOT NULL,
  declared       jsonb,
  placed         jsonb NOT NULL,
  seen           jsonb NOT NULL,
  tasks          jsonb NOT NULL DEFAULT '{}',
  over_committed boolean NOT NULL DEFAULT false,
  PRIMARY KEY (fleet, cluster, node)
)
;;
CREATE VIEW ledger_api.node_books WITH (security_barrier = true) AS
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
       END - coalesce((b.placed ->> a.amount)::numeric, 0) - coalesce((b.seen ->> a.amount)::numeric, 0) AS free,
       b.over_committed
  FROM ledger.node_books b
  JOIN ledger.seen_fleets f ON f.number = b.fleet
 CROSS JOIN LATERAL (SELECT jsonb_object_keys(b.declared) AS amount
                     UNION SELECT jsonb_object_keys(b.placed)
                     UNION SELECT jsonb_object_keys(b.seen)) a
;;
COMMENT ON VIEW ledger_api.node_books IS
  'An amount of a node a row: what the node declares, what is held there, what is free.'
;;
COMMENT ON COLUMN ledger_api.node_books.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.node_books.cluster IS 'Name of the cluster.'
;;
COMMENT ON COLUMN ledger_api.node_books.node IS 'Name of the node.'
;;
COMMENT ON COLUMN ledger_api.node_books.amount IS
  'cpu in milli-cores, memory and storage in bytes, pods; core NAME in pieces, group NAME and device NAME in bytes.'
;;
COMMENT ON COLUMN ledger_api.node_books.declared IS
  'What the node declares; null where the node is not known, and for pods where it sets no limit.'
;;
COMMENT ON COLUMN ledger_api.node_books.placed IS 'What decisions in force placed there.'
;;
COMMENT ON COLUMN ledger_api.node_books.seen IS 'What pods that are seen hold there beyond that.'
;;
COMMENT ON COLUMN ledger_api.node_books.free IS
  'Declared less placed and seen; below zero where the node is over-committed, and then counted as 0.'
;;
COMMENT ON COLUMN ledger_api.node_books.over_committed IS
  'Whether it is known that the node declares less than it holds, of this or another amount.'
;;
-- The same of a disk.
CREATE TABLE ledger.disk_books (
  fleet         integer NOT NULL,
  cluster       text NOT NULL,
  node          text NOT NULL,
  disk          text NOT NULL,
  maximum       bigint NOT NULL,
  available     bigint NOT NULL,
  reserved      bigint NOT NULL,
  scheduled     numeric NOT NULL,
  from_position bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (fleet, cluster, node, disk)
)
;;
CREATE VIEW ledger_api.disk_books WITH (security_barrier = true) AS
SELECT f.name AS fleet,
       b.cluster,
       b.node,
       b.disk,
       b.maximum,
       b.available,
       b.reserved,
       b.scheduled,
       b.maximum - b.reserved - b.scheduled AS free
  FROM ledger.disk_books b
  JOIN ledger.seen_fleets f ON f.number = b.fleet
;;
COMMENT ON VIEW ledger_api.disk_books IS 'A disk a row: what it has, what is scheduled on it, what is free.'
;;
COMMENT ON COLUMN ledger_api.disk_books.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.disk_books.cluster IS 'Cluster of the disk; empty where the fleet does not name it.'
;;
COMMENT ON COLUMN ledger_api.disk_books.node IS 'Node of the disk.'
;;
COMMENT ON COLUMN ledger_api.disk_books.disk IS 'The disk.'
;;
COMMENT ON COLUMN ledger_api.disk_books.maximum IS 'Bytes of the disk, as it was told last.'
;;
COMMENT ON COLUMN ledger_api.disk_books.available IS 'Bytes that nothing was written to, as they were told last.'
;;
COMMENT ON COLUMN ledger_api.disk_books.reserved IS 'Bytes that are kept for others.'
;;
COMMENT ON COLUMN ledger_api.disk_books.scheduled IS 'The sizes of the replicas in force on it, added up.'
;;
COMMENT ON COLUMN ledger_api.disk_books.free IS
  'maximum less reserved and scheduled; below zero where more is promised than there is, as the policy may allow.'
;;
-- The tasks that run: placed by a decision, and taken off by none and by no event since. What the view shows stands in
-- the row: it looks at no decision, however many there were.
CREATE TABLE ledger.running_tasks (
  fleet         integer NOT NULL,
  namespace     text NOT NULL,
  job           text NOT NULL,
  task          bigint NOT NULL,
  cluster       text NOT NULL,
  node          text NOT NULL,
  number        bigint NOT NULL,
  cpu           numeric NOT NULL DEFAULT 0,
  memory        numeric NOT NULL DEFAULT 0,
  storage       numeric NOT NULL DEFAULT 0,
  from_position bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (fleet, namespace, job, task)
)
;;
CREATE INDEX running_tasks_by_node ON ledger.running_tasks (cluster, node, fleet)
;;
-- The book of a job, and of a namespace in a queue: what their running tasks hold.
CREATE TABLE ledger.job_books (
  fleet         integer NOT NULL,
  namespace     text NOT NULL,
  job           text NOT NULL,
  queue         text NOT NULL,
  tasks         bigint NOT NULL,
  cpu           numeric NOT NULL,
  memory        numeric NOT NULL,
  storage       numeric NOT NULL,
  from_position bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (fleet, namespace, job)
)
;;
CREATE TABLE ledger.queue_books (
  fleet         integer NOT NULL,
  queue         text NOT NULL,
  namespace     text NOT NULL,
  tasks         bigint NOT NULL,
  cpu           numeric NOT NULL,
  memory        numeric NOT NULL,
  storage       numeric NOT NULL,
  from_position bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (fleet, queue, namespace)
)
;;
CREATE VIEW ledger_api.running_tasks WITH (security_barrier = true) AS
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
COMMENT ON VIEW ledger_api.running_tasks IS
  'A task of a job that runs now a row: where, and what it holds. Those that wait, or are finished, have none.'
;;
COMMENT ON COLUMN ledger_api.running_tasks.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.running_tasks.queue IS 'The queue that the job is in now.'
;;
COMMENT ON COLUMN ledger_api.running_tasks.namespace IS 'Namespace of the job.'
;;
COMMENT ON COLUMN ledger_api.running_tasks.job IS 'Name of the job.'
;;
COMMENT ON COLUMN ledger_api.running_tasks.task IS 'Index of the task.'
;;
COMMENT ON COLUMN ledger_api.running_tasks.cluster IS 'Name of the cluster.'
;;
COMMENT ON COLUMN ledger_api.running_tasks.node IS 'Name of the node.'
;;
COMMENT ON COLUMN ledger_api.running_tasks.cpu IS 'Milli-cores that it holds, as it was placed with.'
;;
COMMENT ON COLUMN ledger_api.running_tasks.memory IS 'Bytes of memory that it holds.'
;;
COMMENT ON COLUMN ledger_api.running_tasks.storage IS 'Bytes of storage that it holds.'
;;
COMMENT ON COLUMN ledger_api.running_tasks.number IS 'The decision that placed it.'
;;
COMMENT ON COLUMN ledger_api.running_tasks.position IS 'Position of the event at which that round closed.'
;;
CREATE VIEW ledger_api.job_books WITH (security_barrier = true) AS
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
COMMENT ON VIEW ledger_api.job_books IS
  'A job a row: what its tasks hold now. One whose tasks hold nothing has no row.'
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
CREATE VIEW ledger_api.queue_books WITH (security_barrier = true) AS
SELECT f.name AS fleet,
       b.queue,
       b.namespace,
       b.tasks,
       b.cpu,
       b.memory,
       b.storage
  FROM ledger.queue_books b
  JOIN ledger.seen_fleets f ON f.number = b.fleet
;;
COMMENT ON VIEW ledger_api.queue_books IS
  'A namespace in a queue a row: what the tasks of its jobs hold there now. One whose tasks hold nothing has no row.'
;;
COMMENT ON COLUMN ledger_api.queue_books.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.queue_books.queue IS 'The queue that the jobs are in now.'
;;
COMMENT ON COLUMN ledger_api.queue_books.namespace IS 'The namespace.'
;;
COMMENT ON COLUMN ledger_api.queue_books.tasks IS 'How many tasks run.'
;;
COMMENT ON COLUMN ledger_api.queue_books.cpu IS 'Milli-cores that they hold.'
;;
COMMENT ON COLUMN ledger_api.queue_books.memory IS 'Bytes of memory that they hold.'
;;
COMMENT ON COLUMN ledger_api.queue_books.storage IS 'Bytes of storage that they hold.'
;;
