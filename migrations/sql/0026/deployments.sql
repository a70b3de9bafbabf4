-- The rows of deployment decisions, one a node, as people ask for them.
CREATE TABLE ledger.deployments (
  fleet     integer NOT NULL,
  number    bigint NOT NULL,
  node      text NOT NULL,
  namespace text NOT NULL,
  workload  text NOT NULL,
  cluster   text NOT NULL,
  instances bigint NOT NULL,
  added     bigint NOT NULL,
  removed   bigint NOT NULL,
  PRIMARY KEY (fleet, number, node)
)
;;
CREATE INDEX deployments_by_workload ON ledger.deployments (fleet, namespace, workload, number)
;;
CREATE INDEX deployments_by_node ON ledger.deployments (fleet, cluster, node, number)
;;
CALL ledger.protect('ledger.deployments')
;;
CREATE VIEW ledger_api.deployments WITH (security_barrier = true) AS
SELECT f.name AS fleet,
       v.number,
       d.position,
       v.namespace,
       v.workload,
       v.cluster,
       v.node,
       v.instances,
       v.added,
       v.removed,
       d.reasons ->> 'strategy' AS strategy,
       d.branch
  FROM ledger.deployments v
  JOIN ledger.decisions d ON d.fleet = v.fleet AND d.number = v.number
  JOIN ledger.seen_fleets f ON f.number = v.fleet
;;
COMMENT ON VIEW ledger_api.deployments IS
  'A node in a deployment decision a row: how many instances of the workload it has, and what changed.'
;;
COMMENT ON COLUMN ledger_api.deployments.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.deployments.number IS 'The decision.'
;;
COMMENT ON COLUMN ledger_api.deployments.position IS 'Position of the event that made it due.'
;;
COMMENT ON COLUMN ledger_api.deployments.namespace IS 'Namespace of the workload.'
;;
COMMENT ON COLUMN ledger_api.deployments.workload IS 'Name of the workload.'
;;
COMMENT ON COLUMN ledger_api.deployments.cluster IS 'Name of the cluster.'
;;
COMMENT ON COLUMN ledger_api.deployments.node IS 'Name of the node.'
;;
COMMENT ON COLUMN ledger_api.deployments.instances IS 'How many instances are there after the decision.'
;;
COMMENT ON COLUMN ledger_api.deployments.added IS 'How many came since the decision before.'
;;
COMMENT ON COLUMN ledger_api.deployments.removed IS 'How many left or were lost since the decision before.'
;;
COMMENT ON COLUMN ledger_api.deployments.strategy IS
  'AUTO, FILL, EACH, GLOBAL or DRAINED; empty where the workload is not deployed any more.'
;;
COMMENT ON COLUMN ledger_api.deployments.branch IS
  'What was done first: given_up, fresh, edited, replaced, reclaimed or placed; keep where nothing was.'
;;
-- Cores and volumes of the instances of a deployment decision, one an instance that has any.
CREATE TABLE ledger.bindings (
  fleet     integer NOT NULL,
  number    bigint NOT NULL,
  instance  bigint NOT NULL,
  namespace text NOT NULL,
  workload  text NOT NULL,
  cluster   text NOT NULL,
  node      text NOT NULL,
  cores     jsonb NOT NULL,
  volumes   jsonb NOT NULL,
  PRIMARY KEY (fleet, number, instance)
)
;;
CREATE INDEX bindings_by_node ON ledger.bindings (fleet, cluster, node, number)
;;
CALL ledger.protect('ledger.bindings')
;;
CREATE VIEW ledger_api.bindings WITH (security_barrier = true) AS
SELECT f.name AS fleet,
       b.number,
       b.namespace,
       b.workload,
       b.cluster,
       b.node,
       b.instance,
       b.cores,
       b.volumes
  FROM ledger.bindings b
  JOIN ledger.seen_fleets f ON f.number = b.fleet
;;
COMMENT ON VIEW ledger_api.bindings IS
  'What one instance of a deployment decision is bound to, for those that are bound to anything.'
;;
COMMENT ON COLUMN ledger_api.bindings.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.bindings.number IS 'The decision.'
;;
COMMENT ON COLUMN ledger_api.bindings.namespace IS 'Namespace of the workload.'
;;
COMMENT ON COLUMN ledger_api.bindings.workload IS 'Name of the workload.'
;;
COMMENT ON COLUMN ledger_api.bindings.cluster IS 'Name of the cluster.'
;;
COMMENT ON COLUMN ledger_api.bindings.node IS 'Name of the node.'
;;
COMMENT ON COLUMN ledger_api.bindings.instance IS 'Number of the instance.'
;;
COMMENT ON COLUMN ledger_api.bindings.cores IS 'Pieces of each core, by the name of the core.'
;;
COMMENT ON COLUMN ledger_api.bindings.volumes IS
  'Each volume by its text: the device it lies on and the bytes it has there.'
;;
-- What a decision on capacity says stands in the decision itself.
CREATE VIEW ledger_api.capacity_classes WITH (security_barrier = true) AS
SELECT f.name AS fleet,
       d.number,
       d.position,
       d.result ->> 'namespace' AS namespace,
       d.result ->> 'workload' AS workload,
       d.result ->> 'cluster' AS cluster,
       d.result ->> 'template_hash' AS template_hash,
       d.result ->> 'admission_uid' AS admission_uid,
       d.result ->> 'class' AS class,
       d.result ->> 'reservation' AS reservation,
       (d.result ->> 'target')::bigint AS target,
       (d.result ->> 'on_demand')::bigint AS on_demand
  FROM ledger.decisions d
  JOIN ledger.seen_fleets f ON f.number = d.fleet
 WHERE d.kind = 'capacity_class'
;;
COMMENT ON VIEW ledger_api.capacity_classes IS
  'How many instances of a workload belong on on-demand nodes, or to which capacity one pod was admitted, a decision a row.'
;;
COMMENT ON COLUMN ledger_api.capacity_classes.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.capacity_classes.number IS 'The decision.'
;;
COMMENT ON COLUMN ledger_api.capacity_classes.position IS 'Position of the event that made it due.'
;;
COMMENT ON COLUMN ledger_api.capacity_classes.namespace IS 'Namespace of the workload.'
;;
COMMENT ON COLUMN ledger_api.capacity_classes.workload IS 'Name of the workload.'
;;
COMMENT ON COLUMN ledger_api.capacity_classes.cluster IS 'Name of the cluster.'
;;
COMMENT ON COLUMN ledger_api.capacity_classes.template_hash IS
  'Hash of the pod template; null where the target is for all of the workload.'
;;
COMMENT ON COLUMN ledger_api.capacity_classes.admission_uid IS 'The admission that was answered; null where none was.'
;;
COMMENT ON COLUMN ledger_api.capacity_classes.class IS 'od or spot, for an admission.'
;;
COMMENT ON COLUMN ledger_api.capacity_classes.reservation IS 'The reservation that the pod carries, for an admission.'
;;
COMMENT ON COLUMN ledger_api.capacity_classes.target IS
  'How many belong on on-demand nodes; null leaves them as they are.'
;;
COMMENT ON COLUMN ledger_api.capacity_classes.on_demand IS 'How many counted as on demand then, for an admission.'
;;
