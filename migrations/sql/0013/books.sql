-- The tasks that run: placed by a decision, and taken off by none and by no event since.
CREATE TABLE ledger.running_tasks (
  fleet     integer NOT NULL,
  namespace text NOT NULL,
  job       text NOT NULL,
  task      bigint NOT NULL,
  cluster   text NOT NULL,
  node      text NOT NULL,
  number    bigint NOT NULL,
  PRIMARY KEY (fleet, namespace, job, task)
)
;;
CREATE INDEX running_tasks_by_node ON ledger.running_tasks (fleet, cluster, node)
;;
-- What the decider's book says of a disk; derived, kept up by the decider.
CREATE TABLE ledger.disk_books (
  fleet     integer NOT NULL,
  cluster   text NOT NULL,
  node      text NOT NULL,
  disk      text NOT NULL,
  maximum   bigint NOT NULL,
  available bigint NOT NULL,
  reserved  bigint NOT NULL,
  scheduled numeric NOT NULL,
  PRIMARY KEY (fleet, cluster, node, disk)
)
;;
-- The same of a job, and of a namespace in a queue: what their running tasks hold.
CREATE TABLE ledger.job_books (
  fleet     integer NOT NULL,
  namespace text NOT NULL,
  job       text NOT NULL,
  queue     text NOT NULL,
  tasks     bigint NOT NULL,
  cpu       numeric NOT NULL,
  memory    numeric NOT NULL,
  storage   numeric NOT NULL,
  PRIMARY KEY (fleet, namespace, job)
)
;;
CREATE TABLE ledger.queue_books (
  fleet     integer NOT NULL,
  queue     text NOT NULL,
  namespace text NOT NULL,
  tasks     bigint NOT NULL,
  cpu       numeric NOT NULL,
  memory    numeric NOT NULL,
  storage   numeric NOT NULL,
  PRIMARY KEY (fleet, queue, namespace)
)
;;
-- Whether the decider knows that the node declares less than it holds.
ALTER TABLE ledger.node_books ADD COLUMN over_committed boolean NOT NULL DEFAULT false
;;
CREATE OR REPLACE VIEW ledger_api.node_books AS
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
  JOIN ledger.fleets f ON f.number = b.fleet
 CROSS JOIN LATERAL (SELECT jsonb_object_keys(b.declared) AS amount
                     UNION SELECT jsonb_object_keys(b.placed)
                     UNION SELECT jsonb_object_keys(b.seen)) a
;;
COMMENT ON COLUMN ledger_api.node_books.over_committed IS 'Whether it is known that the node declares less than it holds, of this or another amount.'
;;
CREATE VIEW ledger_api.disk_books AS
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
  JOIN ledger.fleets f ON f.number = b.fleet
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
COMMENT ON COLUMN ledger_api.disk_books.free IS 'maximum less reserved and scheduled; below zero where more is promised than there is, as the policy may allow.'
;;
CREATE VIEW ledger_api.queue_books AS
SELECT f.name AS fleet,
       b.queue,
       b.namespace,
       b.tasks,
       b.cpu,
       b.memory,
       b.storage
  FROM ledger.queue_books b
  JOIN ledger.fleets f ON f.number = b.fleet
;;
COMMENT ON VIEW ledger_api.queue_books IS 'A namespace in a queue a row: what the tasks of its jobs hold there now. One whose tasks hold nothing has no row.'
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
CREATE VIEW ledger_api.running_tasks AS
SELECT f.name AS fleet,
       b.queue,
       t.namespace,
       t.job,
       t.task,
       t.cluster,
       t.node,
       (d.result #>> '{request,cpu}')::numeric AS cpu,
       (d.result #>> '{request,memory}')::numeric AS memory,
       (d.result #>> '{request,storage}')::numeric AS storage,
       t.number,
       d.position
  FROM ledger.running_tasks t
  JOIN ledger.fleets f ON f.number = t.fleet
  JOIN ledger.decisions d ON d.fleet = t.fleet AND d.number = t.number
  LEFT JOIN ledger.job_books b ON b.fleet = t.fleet AND b.namespace = t.namespace AND b.job = t.job
;;
COMMENT ON VIEW ledger_api.running_tasks IS 'A task of a job that runs now a row: where, and what it holds. Those that wait, or are finished, have none.'
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
COMMENT ON COLUMN ledger_api.refusals.detail IS 'The numbers behind the reason; of volumes `expansion_short` and `replica_short` are the bytes that are short.'
