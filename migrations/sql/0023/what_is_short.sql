-- What is short stands in the refusal itself; it is looked up by its number, and only where it is asked for.
CREATE OR REPLACE VIEW ledger_api.open_refusals WITH (security_barrier = true) AS
SELECT f.name AS fleet,
       o.number,
       o.from_position AS "position",
       o.wanted AS kind_wanted,
       o.subject,
       o.reason,
       o.waits_for,
       (SELECT d.reasons -> 'detail' FROM ledger.decisions d
         WHERE d.fleet = o.fleet AND d.number = o.number) AS detail
  FROM ledger.open_refusals o
  JOIN ledger.seen_fleets f ON f.number = o.fleet
;;
COMMENT ON COLUMN ledger_api.open_refusals.detail IS
  'The numbers behind the reason, as they were at `position`: what was wanted, found or short.'
;;
CREATE OR REPLACE VIEW ledger.open_refusals_over_time WITH (security_barrier = true) AS
SELECT r.fleet AS fleet_number,
       r.number,
       r.from_position AS "position",
       r.wanted AS kind_wanted,
       r.subject,
       r.reason,
       r.waits_for,
       r.from_position,
       r.until_position,
       r.fork,
       (SELECT d.reasons -> 'detail' FROM ledger.decisions d
         WHERE d.fleet = r.fleet AND d.number = r.number) AS detail
  FROM (SELECT o.fleet, o.number, o.wanted, o.subject, o.reason, o.waits_for,
               o.from_position, o.until_position, o.fork FROM ledger.past_open_refusals o
         UNION ALL
        SELECT o.fleet, o.number, o.wanted, o.subject, o.reason, o.waits_for,
               o.from_position, NULL::bigint, NULL::bigint FROM ledger.open_refusals o) r
 WHERE r.fleet = ANY (ARRAY(SELECT number FROM ledger.seen_fleets))
;;
CREATE OR REPLACE FUNCTION ledger_api.open_refusals_as_of(fleet text, "position" bigint)
RETURNS SETOF ledger_api.open_refusals LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT open_refusals_as_of.fleet, r.number, r."position", r.kind_wanted, r.subject, r.reason, r.waits_for, r.detail
    FROM (SELECT t.* FROM ledger.open_refusals_over_time t
           WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f
                                    WHERE f.name = open_refusals_as_of.fleet)
             AND t.fork = ANY (ledger.forks_before(open_refusals_as_of."position"))
             AND t.until_position > open_refusals_as_of."position"
           UNION ALL
          SELECT t.* FROM ledger.open_refusals_over_time t
           WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f
                                    WHERE f.name = open_refusals_as_of.fleet)
             AND t.fork = ANY (ledger.forks_behind(open_refusals_as_of."position"))
             AND t.from_position <= open_refusals_as_of."position"
           UNION ALL
          SELECT t.* FROM ledger.open_refusals_over_time t
           WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f
                                    WHERE f.name = open_refusals_as_of.fleet)
             AND t.fork IS NULL
             AND t.from_position <= open_refusals_as_of."position") r
   WHERE ledger.is_kept(open_refusals_as_of.fleet, open_refusals_as_of."position");
END
;;
CREATE OR REPLACE FUNCTION ledger_api.open_refusals_at(fleet text, moment timestamptz)
RETURNS SETOF ledger_api.open_refusals LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT t.*
    FROM ledger_api.open_refusals_as_of(
           open_refusals_at.fleet, (SELECT ledger.decided_at(open_refusals_at.fleet, open_refusals_at.moment))) t;
END
;;
