-- The rows of division decisions, one a cluster, as people ask for them. Floors and residuals are static weight's;
-- who took no part, or gets a copy, has no weight. A cluster that had replicas of a workload and takes no part in its
-- next division loses them: that has a row too, so that what came to clusters and what went adds up.
CREATE TABLE ledger.divisions (
  fleet             integer NOT NULL,
  number            bigint NOT NULL,
  cluster           text NOT NULL,
  namespace         text NOT NULL,
  workload          text NOT NULL,
  weight            numeric,
  replicas          bigint NOT NULL,
  floor             bigint,
  residual          boolean,
  previous_replicas bigint NOT NULL,
  available         bigint,
  left_out          boolean NOT NULL DEFAULT false,
  PRIMARY KEY (fleet, number, cluster)
)
;;
CREATE INDEX divisions_by_workload ON ledger.divisions (fleet, namespace, workload, number)
;;
CREATE INDEX divisions_by_cluster ON ledger.divisions (fleet, cluster, number)
;;
CALL ledger.protect('ledger.divisions')
;;
CREATE VIEW ledger_api.divisions WITH (security_barrier = true) AS
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
COMMENT ON COLUMN ledger_api.divisions.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.divisions.number IS 'The decision.'
;;
COMMENT ON COLUMN ledger_api.divisions.position IS 'Position of the event that made it due.'
;;
COMMENT ON COLUMN ledger_api.divisions.namespace IS 'Namespace of the workload.'
;;
COMMENT ON COLUMN ledger_api.divisions.workload IS 'Name of the workload.'
;;
COMMENT ON COLUMN ledger_api.divisions.cluster IS 'Name of the cluster.'
;;
COMMENT ON COLUMN ledger_api.divisions.weight IS
  'The weight it was divided by: as wished, or its room; null where it took no part or got a copy.'
;;
COMMENT ON COLUMN ledger_api.divisions.replicas IS 'How many replicas it got.'
;;
COMMENT ON COLUMN ledger_api.divisions.floor IS 'The whole part of its weighted share; null but for static weight.'
;;
COMMENT ON COLUMN ledger_api.divisions.residual IS
  'Whether it got one of the replicas that the whole parts left over; null but for static weight.'
;;
COMMENT ON COLUMN ledger_api.divisions.previous_replicas IS 'What it had before this decision, in this life of its workload.'
;;
COMMENT ON COLUMN ledger_api.divisions.branch IS 'Which rule applied.'
;;
COMMENT ON COLUMN ledger_api.divisions.strategy IS 'static, webster, dynamic, aggregated or duplicated.'
;;
COMMENT ON COLUMN ledger_api.divisions.available IS 'How many more it could take; null where that was not asked.'
;;
COMMENT ON COLUMN ledger_api.divisions.left_out IS
  'True where it had replicas and takes no part any more: it is not ready, removed, not wished for or not selected.'
;;
