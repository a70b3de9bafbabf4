-- The rows of both tables as they are and as they were.
CREATE VIEW ledger.placements_over_time WITH (security_barrier = true) AS
SELECT p.fleet AS fleet_number,
       p.kind,
       p.subject,
       p.cluster,
       nullif(p.node, '') AS node,
       nullif(p.disk, '') AS disk,
       p.count,
       p.from_position,
       p.until_position,
       p.fork
  FROM (SELECT o.fleet, o.kind, o.subject, o.cluster, o.node, o.disk, o.count,
               o.from_position, o.until_position, o.fork FROM ledger.past_placements o
        UNION ALL
        SELECT o.fleet, o.kind, o.subject, o.cluster, o.node, o.disk, o.count,
               o.from_position, NULL, NULL FROM ledger.placements o) p
 WHERE p.fleet = ANY (ARRAY(SELECT f.number FROM ledger.seen_fleets f))
;;
CREATE VIEW ledger.placed_by_over_time WITH (security_barrier = true) AS
SELECT b.fleet AS fleet_number,
       b.kind,
       b.subject,
       b.number,
       b.from_position,
       b.until_position,
       b.fork
  FROM (SELECT o.fleet, o.kind, o.subject, o.number,
               o.from_position, o.until_position, o.fork FROM ledger.past_placed_by o
        UNION ALL
        SELECT o.fleet, o.kind, o.subject, o.number,
               o.from_position, NULL, NULL FROM ledger.placed_by o) b
 WHERE b.fleet = ANY (ARRAY(SELECT f.number FROM ledger.seen_fleets f))
;;
-- A place as it was, and the decision that was in force for its subject then.
CREATE OR REPLACE FUNCTION ledger_api.placements_as_of(fleet text, "position" bigint)
  RETURNS SETOF ledger_api.placements
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT placements_as_of.fleet, r.kind, r.subject, r.cluster, r.node, r.disk, r.count, b.number,
           r.from_position
      FROM (
        SELECT t.* FROM ledger.placements_over_time t
         WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = placements_as_of.fleet)
           AND t.fork = ANY (ledger.forks_before(placements_as_of."position"))
           AND t.until_position > placements_as_of."position"
        UNION ALL
        SELECT t.* FROM ledger.placements_over_time t
         WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = placements_as_of.fleet)
           AND t.fork = ANY (ledger.forks_behind(placements_as_of."position"))
           AND t.from_position <= placements_as_of."position"
        UNION ALL
        SELECT t.* FROM ledger.placements_over_time t
         WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = placements_as_of.fleet)
           AND t.fork IS NULL
           AND t.from_position <= placements_as_of."position"
      ) r
      JOIN (
        SELECT t.* FROM ledger.placed_by_over_time t
         WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = placements_as_of.fleet)
           AND t.fork = ANY (ledger.forks_before(placements_as_of."position"))
           AND t.until_position > placements_as_of."position"
        UNION ALL
        SELECT t.* FROM ledger.placed_by_over_time t
         WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = placements_as_of.fleet)
           AND t.fork = ANY (ledger.forks_behind(placements_as_of."position"))
           AND t.from_position <= placements_as_of."position"
        UNION ALL
        SELECT t.* FROM ledger.placed_by_over_time t
         WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = placements_as_of.fleet)
           AND t.fork IS NULL
           AND t.from_position <= placements_as_of."position"
      ) b ON b.subject = r.subject AND b.kind = r.kind
     WHERE ledger.is_kept(placements_as_of.fleet, placements_as_of."position");
  END
;;
GRANT SELECT ON ledger.placements_over_time, ledger.placed_by_over_time
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
