-- Of a place whose decision nobody knows the number is null: it is not left out.
CREATE OR REPLACE VIEW ledger_api.placements WITH (security_barrier = true) AS
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
-- The rows of both tables as they are and as they were.
CREATE VIEW ledger.places_over_time WITH (security_barrier = true) AS
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
               o.from_position, o.until_position, o.fork FROM ledger.past_places o
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
-- Places as they were, and the decisions that were in force for their subjects then. How many rows of a past there
-- are is hardly ever known, and a planner that takes both for few would compare each with each. It cannot do so
-- where all rows of both sides are told: so they are, and what only has a decision is left out behind, in words that
-- do not tell the planner that it could have been left out before.
CREATE OR REPLACE FUNCTION ledger_api.placements_as_of(fleet text, "position" bigint)
  RETURNS SETOF ledger_api.placements
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT placements_as_of.fleet, kind, subject,
           CASE WHEN coalesce(r.count, 0) > 0 THEN r.cluster END,
           CASE WHEN coalesce(r.count, 0) > 0 THEN r.node END,
           CASE WHEN coalesce(r.count, 0) > 0 THEN r.disk END,
           coalesce(r.count, 0),
           CASE WHEN coalesce(r.count, 0) > 0 THEN b.number END,
           CASE WHEN coalesce(r.count, 0) > 0 THEN r.from_position END
      FROM (
        SELECT t.kind, t.subject, t.cluster, t.node, t.disk, t.count, t.from_position FROM ledger.places_over_time t
         WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = placements_as_of.fleet)
           AND t.fork = ANY (ledger.forks_before(placements_as_of."position"))
           AND t.until_position > placements_as_of."position"
        UNION ALL
        SELECT t.kind, t.subject, t.cluster, t.node, t.disk, t.count, t.from_position FROM ledger.places_over_time t
         WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = placements_as_of.fleet)
           AND t.fork = ANY (ledger.forks_behind(placements_as_of."position"))
           AND t.from_position <= placements_as_of."position"
        UNION ALL
        SELECT t.kind, t.subject, t.cluster, t.node, t.disk, t.count, t.from_position FROM ledger.places_over_time t
         WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = placements_as_of.fleet)
           AND t.fork IS NULL
           AND t.from_position <= placements_as_of."position"
      ) r
      FULL JOIN (
        SELECT t.kind, t.subject, t.number FROM ledger.placed_by_over_time t
         WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = placements_as_of.fleet)
           AND t.fork = ANY (ledger.forks_before(placements_as_of."position"))
           AND t.until_position > placements_as_of."position"
        UNION ALL
        SELECT t.kind, t.subject, t.number FROM ledger.placed_by_over_time t
         WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = placements_as_of.fleet)
           AND t.fork = ANY (ledger.forks_behind(placements_as_of."position"))
           AND t.from_position <= placements_as_of."position"
        UNION ALL
        SELECT t.kind, t.subject, t.number FROM ledger.placed_by_over_time t
         WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = placements_as_of.fleet)
           AND t.fork IS NULL
           AND t.from_position <= placements_as_of."position"
      ) b USING (kind, subject)
     WHERE coalesce(r.count, 0) > 0
       AND ledger.is_kept(placements_as_of.fleet, placements_as_of."position");
  END
;;
GRANT SELECT ON ledger.places_over_time, ledger.placed_by_over_time
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
