-- Tasks that rounds placed or evicted, one a task, as people ask for them.
CREATE TABLE ledger.task_moves (
  fleet     integer NOT NULL,
  number    bigint NOT NULL,
  task      bigint NOT NULL,
  kind      text NOT NULL CHECK (kind IN ('allocation', 'eviction')),
  round     bigint NOT NULL,
  queue     text NOT NULL,
  namespace text NOT NULL,
  job       text NOT NULL,
  cluster   text NOT NULL,
  node      text NOT NULL,
  share     text,
  reason    text NOT NULL,
  PRIMARY KEY (fleet, number, task)
)
;;
CREATE INDEX task_moves_by_job ON ledger.task_moves (fleet, namespace, job, number)
;;
CREATE INDEX task_moves_by_node ON ledger.task_moves (fleet, cluster, node, number)
;;
CALL ledger.protect('ledger.task_moves')
;;
CREATE VIEW ledger_api.allocations WITH (security_barrier = true) AS
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
       t.reason
  FROM ledger.task_moves t
  JOIN ledger.decisions d ON d.fleet = t.fleet AND d.number = t.number
  JOIN ledger.seen_fleets f ON f.number = t.fleet
 WHERE t.kind = 'allocation'
;;
COMMENT ON VIEW ledger_api.allocations IS
  'A task that a round placed a row: where, and by which share it was its turn.'
;;
COMMENT ON COLUMN ledger_api.allocations.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.allocations.number IS 'The decision.'
;;
COMMENT ON COLUMN ledger_api.allocations.position IS 'Position of the event at which the round closed.'
;;
COMMENT ON COLUMN ledger_api.allocations.round IS 'Which round of the fleet it was, from 1 on.'
;;
COMMENT ON COLUMN ledger_api.allocations.queue IS 'The queue that the job was in.'
;;
COMMENT ON COLUMN ledger_api.allocations.namespace IS 'Namespace of the job.'
;;
COMMENT ON COLUMN ledger_api.allocations.job IS 'Name of the job.'
;;
COMMENT ON COLUMN ledger_api.allocations.task IS 'Index of the task.'
;;
COMMENT ON COLUMN ledger_api.allocations.cluster IS 'Name of the cluster.'
;;
COMMENT ON COLUMN ledger_api.allocations.node IS 'Name of the node.'
;;
COMMENT ON COLUMN ledger_api.allocations.share IS
  'Weighted share of the namespace in its queue before the turn, as num/den; null where there was no turn.'
;;
COMMENT ON COLUMN ledger_api.allocations.reason IS
  'By which step of the round: allocate, preempt, reclaim or backfill.'
;;
CREATE VIEW ledger_api.evictions WITH (security_barrier = true) AS
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
COMMENT ON VIEW ledger_api.evictions IS 'A task that a round evicted a row: from where, and for whom.'
;;
COMMENT ON COLUMN ledger_api.evictions.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.evictions.number IS 'The decision.'
;;
COMMENT ON COLUMN ledger_api.evictions.position IS 'Position of the event at which the round closed.'
;;
COMMENT ON COLUMN ledger_api.evictions.round IS 'Which round of the fleet it was, from 1 on.'
;;
COMMENT ON COLUMN ledger_api.evictions.queue IS 'The queue that the job was in.'
;;
COMMENT ON COLUMN ledger_api.evictions.namespace IS 'Namespace of the job.'
;;
COMMENT ON COLUMN ledger_api.evictions.job IS 'Name of the job.'
;;
COMMENT ON COLUMN ledger_api.evictions.task IS 'Index of the task.'
;;
COMMENT ON COLUMN ledger_api.evictions.cluster IS 'Name of the cluster.'
;;
COMMENT ON COLUMN ledger_api.evictions.node IS 'Name of the node.'
;;
COMMENT ON COLUMN ledger_api.evictions.share IS 'Null: nobody has a turn at being evicted.'
;;
COMMENT ON COLUMN ledger_api.evictions.reason IS
  'For another job of its queue (preempt) or for another queue (reclaim).'
;;
COMMENT ON COLUMN ledger_api.evictions.taker IS 'The job that the room was made for, as namespace/job.'
;;
