-- The replicas that disk decisions placed, one a row, as people ask for them.
CREATE TABLE ledger.disk_placements (
  fleet         integer NOT NULL,
  number        bigint NOT NULL,
  replica       text NOT NULL,
  volume        text NOT NULL,
  cluster       text NOT NULL,
  node          text NOT NULL,
  disk          text NOT NULL,
  size          bigint NOT NULL,
  why           text NOT NULL,
  rung          text NOT NULL,
  node_score    text,
  disk_score    text,
  overcommitted boolean NOT NULL,
  PRIMARY KEY (fleet, number, replica)
)
;;
CREATE INDEX disk_placements_by_volume ON ledger.disk_placements (fleet, volume, number)
;;
CREATE INDEX disk_placements_by_disk ON ledger.disk_placements (fleet, cluster, node, disk, number)
;;
CALL ledger.protect('ledger.disk_placements')
;;
CREATE VIEW ledger_api.disk_placements WITH (security_barrier = true) AS
SELECT f.name AS fleet,
       p.number,
       d.position,
       p.volume,
       p.replica,
       p.cluster,
       p.node,
       p.disk,
       p.size,
       p.why,
       p.rung,
       p.node_score,
       p.disk_score,
       p.overcommitted
  FROM ledger.disk_placements p
  JOIN ledger.decisions d ON d.fleet = p.fleet AND d.number = p.number
  JOIN ledger.seen_fleets f ON f.number = p.fleet
;;
COMMENT ON VIEW ledger_api.disk_placements IS
  'A replica that a disk decision placed a row: where, and how the disk was found.'
;;
COMMENT ON COLUMN ledger_api.disk_placements.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.disk_placements.number IS 'The decision.'
;;
COMMENT ON COLUMN ledger_api.disk_placements.position IS 'Position of the event that made it due.'
;;
COMMENT ON COLUMN ledger_api.disk_placements.volume IS 'Name of the volume.'
;;
COMMENT ON COLUMN ledger_api.disk_placements.replica IS 'Name of the replica.'
;;
COMMENT ON COLUMN ledger_api.disk_placements.cluster IS 'Cluster of the disk; empty where the fleet does not name it.'
;;
COMMENT ON COLUMN ledger_api.disk_placements.node IS 'Node of the disk.'
;;
COMMENT ON COLUMN ledger_api.disk_placements.disk IS 'The disk.'
;;
COMMENT ON COLUMN ledger_api.disk_placements.size IS 'Bytes of the replica.'
;;
COMMENT ON COLUMN ledger_api.disk_placements.why IS
  'missing; or waited, evicting: what was the matter with the replica that it replaces; or proposal: an approved one moved it.'
;;
COMMENT ON COLUMN ledger_api.disk_placements.rung IS
  'The rung of the ladder of anti-affinity on which a disk was found; or proposal.'
;;
COMMENT ON COLUMN ledger_api.disk_placements.node_score IS
  'Balance of all nodes with the replica on this one, as num/den; null where nothing was scored.'
;;
COMMENT ON COLUMN ledger_api.disk_placements.disk_score IS
  'Balance of the disks with the replica on this one, as num/den; null where nothing was scored.'
;;
COMMENT ON COLUMN ledger_api.disk_placements.overcommitted IS
  'Whether no disk had room for it, and it was placed all the same.'
;;
