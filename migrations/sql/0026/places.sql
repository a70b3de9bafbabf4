-- What is in force now; derived, kept up by the decider, rebuilt from decisions at any time. Asked for is a subject, of
-- whatever kind; or a node, which the views call null where there is none.
CREATE TABLE ledger.placements (
  fleet         integer NOT NULL,
  kind          text NOT NULL,
  subject       text NOT NULL,
  cluster       text NOT NULL,
  node          text NOT NULL DEFAULT '',
  disk          text NOT NULL DEFAULT '',
  count         bigint NOT NULL CHECK (count > 0),
  from_position bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (fleet, subject, kind, cluster, node, disk)
)
;;
-- Deciders look for rows by their keys, which begin with the fleet. Where little is known of a table, another
-- index that begins with it would do as well to the planner, and that is settled for longer than it is true. So
-- indexes and keys beside the first one end with the fleet, here as with other tables of how things stand.
CREATE INDEX placements_by_node ON ledger.placements (cluster, (nullif(node, '')), fleet)
;;
-- Which decision says what is in force for a subject: the same one for all its places. It turns with each
-- decision; a place only where its count does.
CREATE TABLE ledger.placed_by (
  fleet         integer NOT NULL,
  kind          text NOT NULL,
  subject       text NOT NULL,
  number        bigint NOT NULL,
  from_position bigint NOT NULL,
  PRIMARY KEY (fleet, subject, kind)
)
;;
-- Of a place whose decision nobody knows the number is null: it is not left out.
CREATE VIEW ledger_api.placements WITH (security_barrier = true) AS
SELECT f.name AS fleet,
       p.kind,
       p.subject,
       p.cluster,
       nullif(p.node, '') AS node,
       nullif(p.disk, '') AS disk,
       p.count,
       b.number,
       p.from_position AS since_position
  FROM ledger.placements p
  LEFT JOIN ledger.placed_by b ON b.fleet = p.fleet AND b.subject = p.subject AND b.kind = p.kind
  JOIN ledger.seen_fleets f ON f.number = p.fleet
;;
COMMENT ON VIEW ledger_api.placements IS 'What is in force now, a place a row.'
;;
COMMENT ON COLUMN ledger_api.placements.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.placements.kind IS 'The kind of decision that placed it.'
;;
COMMENT ON COLUMN ledger_api.placements.subject IS 'Key of what is placed.'
;;
COMMENT ON COLUMN ledger_api.placements.cluster IS 'Where: the cluster.'
;;
COMMENT ON COLUMN ledger_api.placements.node IS 'Where: the node, where that was decided.'
;;
COMMENT ON COLUMN ledger_api.placements.disk IS 'Where: the disk, where that was decided.'
;;
COMMENT ON COLUMN ledger_api.placements.count IS 'How many are there.'
;;
COMMENT ON COLUMN ledger_api.placements.number IS
  'The newest decision about the subject that is in force; of a job it is the last round that placed or evicted any of its tasks.'
;;
COMMENT ON COLUMN ledger_api.placements.since_position IS 'Position since which this many are there.'
;;
