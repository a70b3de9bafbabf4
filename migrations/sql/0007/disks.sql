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
GRANT SELECT ON ledger.disk_placements
  TO ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
GRANT INSERT ON ledger.disk_placements TO ledger_decider
;;
CREATE VIEW ledger_api.disk_placements AS
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
  JOIN ledger.fleets f ON f.number = p.fleet
;;
COMMENT ON VIEW ledger_api.disk_placements IS 'A replica that a disk decision placed a row: where, and how the disk was found.'
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
COMMENT ON COLUMN ledger_api.disk_placements.why IS 'missing; or waited, evicting: what was the matter with the replica that it replaces.'
;;
COMMENT ON COLUMN ledger_api.disk_placements.rung IS 'The rung of the ladder of anti-affinity on which a disk was found.'
;;
COMMENT ON COLUMN ledger_api.disk_placements.node_score IS 'Balance of all nodes with the replica on this one, as num/den; null where nothing was scored.'
;;
COMMENT ON COLUMN ledger_api.disk_placements.disk_score IS 'Balance of the disks with the replica on this one, as num/den; null where nothing was scored.'
;;
COMMENT ON COLUMN ledger_api.disk_placements.overcommitted IS 'Whether no disk had room for it, and it was placed all the same.'
;;
CREATE OR REPLACE VIEW ledger_api.candidates AS
SELECT f.name AS fleet,
       d.number,
       coalesce(d.result ->> 'wanted', d.kind) AS stage,
       l.named ->> 0 AS candidate,
       NULL::bigint AS rank,
       NULL::text AS score,
       false AS chosen,
       l.named ->> 1 AS why_not
  FROM ledger.decisions d
  JOIN ledger.fleets f ON f.number = d.fleet
 CROSS JOIN LATERAL jsonb_array_elements(d.reasons #> '{losers,named}') AS l(named)
UNION ALL
SELECT f.name, v.number, 'division', v.cluster, NULL, NULL, true, NULL
  FROM ledger.divisions v
  JOIN ledger.fleets f ON f.number = v.fleet
 WHERE v.replicas > 0
UNION ALL
SELECT f.name, v.number, 'deployment', v.node, NULL, NULL, true, NULL
  FROM ledger.deployments v
  JOIN ledger.fleets f ON f.number = v.fleet
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
  JOIN ledger.fleets f ON f.number = d.fleet
 CROSS JOIN LATERAL jsonb_array_elements(d.reasons -> 'steps') AS step(taken)
 CROSS JOIN LATERAL (VALUES ('node', step.taken -> 'nodes'), ('disk', step.taken -> 'disks')) AS stage(name, ranking)
 CROSS JOIN LATERAL jsonb_array_elements(stage.ranking) WITH ORDINALITY AS weighed(one, rank)
 WHERE d.kind = 'disk_placement'
UNION ALL
SELECT f.name, d.number, (step.taken ->> 'replica') || ' filter', l.named ->> 0, NULL, NULL, false, l.named ->> 1
  FROM ledger.decisions d
  JOIN ledger.fleets f ON f.number = d.fleet
 CROSS JOIN LATERAL jsonb_array_elements(d.reasons -> 'steps') AS step(taken)
 CROSS JOIN LATERAL jsonb_array_elements(step.taken #> '{losers,named}') AS l(named)
 WHERE d.kind = 'disk_placement'
;;
COMMENT ON VIEW ledger_api.candidates IS 'A cluster, node or disk that was weighed for a decision a row, winner or loser; of the losers the first 16 are named.'
;;
COMMENT ON COLUMN ledger_api.candidates.stage IS 'What was chosen: division chooses clusters, deployment nodes; for a replica its name with node, then disk, or filter for who did not come so far.'
;;
COMMENT ON COLUMN ledger_api.candidates.candidate IS 'Name of the cluster, node or disk.'
;;
COMMENT ON COLUMN ledger_api.candidates.why_not IS 'Reason code of a loser, such as unschedulable, with what was compared or who was in the way; null for a winner.'
;;
GRANT SELECT ON ledger_api.disk_placements
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
