-- As before, and a position that is too large for any fleet can be asked for: it is refused by name.
CREATE OR REPLACE FUNCTION ledger.forks_before(at bigint) RETURNS bigint[]
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN ARRAY(SELECT ((least(at, 9223372036854775806) + 1) >> bit) << bit FROM generate_series(0, 61) AS bit
                WHERE ((least(at, 9223372036854775806) + 1) >> bit) & 1 = 1 ORDER BY bit)
;;
CREATE OR REPLACE FUNCTION ledger.forks_behind(at bigint) RETURNS bigint[]
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN ARRAY(SELECT (((least(at, 9223372036854775806) + 1) >> bit) | 1) << bit FROM generate_series(0, 61) AS bit
                WHERE ((least(at, 9223372036854775806) + 1) >> bit) & 1 = 0 ORDER BY bit)
;;
CREATE VIEW ledger.decided_over_time WITH (security_barrier = true) AS
SELECT f.name AS fleet,
       coalesce((SELECT max(d.through) FROM ledger.decided d WHERE d.fleet = f.number), -1) AS through
  FROM ledger.seen_fleets f
;;
CREATE FUNCTION ledger.refuse_undecided(fleet text, "position" bigint, through bigint) RETURNS boolean
  LANGUAGE plpgsql STABLE AS $$
BEGIN
  RAISE EXCEPTION 'fleet %: position % is not decided; %', fleet, "position",
    CASE WHEN through < 0 THEN 'nothing is yet' ELSE 'the newest that is, is ' || through END
    USING ERRCODE = 'LG016';
END
$$
;;
-- Said of fleets that are not there and of those that whoever asks may not see: nobody learns which it is.
CREATE FUNCTION ledger.refuse_fleet(fleet text) RETURNS boolean
  LANGUAGE plpgsql STABLE AS $$
BEGIN
  RAISE EXCEPTION 'fleet %: there is none of this name that you may see', fleet USING ERRCODE = 'LG017';
END
$$
;;
-- Whether what is in force at a position is known for good: what is not decided will be another answer later.
-- Null is before the first event.
CREATE FUNCTION ledger.is_decided(fleet text, "position" bigint) RETURNS boolean
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT coalesce((SELECT CASE WHEN is_decided."position" > d.through
                                 THEN ledger.refuse_undecided(d.fleet, is_decided."position", d.through)
                                 ELSE true END
                       FROM ledger.decided_over_time d WHERE d.fleet = is_decided.fleet),
                    ledger.refuse_fleet(is_decided.fleet));
  END
;;
CREATE OR REPLACE FUNCTION ledger.is_kept(fleet text, "position" bigint) RETURNS boolean
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT ledger.is_decided(is_kept.fleet, is_kept."position")
       AND NOT EXISTS (SELECT FROM ledger.histories_over_time h
                        WHERE h.fleet = is_kept.fleet AND h.first > is_kept."position"
                          AND ledger.refuse_position(h.fleet, is_kept."position", h.first));
  END
;;
CREATE OR REPLACE FUNCTION ledger_api.proposals_as_of(fleet text, "position" bigint)
  RETURNS SETOF ledger_api.proposals
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT p.fleet, p.number, p.position, p.kind, p.subject, p.moves, p.bytes, p.measure, p.score_before,
           p.score_after, p.no_more,
           CASE WHEN p.ended_position > proposals_as_of."position" THEN 'open' ELSE p.state END,
           CASE WHEN p.ended_position <= proposals_as_of."position" THEN p.resolved_by END,
           CASE WHEN p.ended_position <= proposals_as_of."position" THEN p.ended_position END
      FROM ledger_api.proposals p
     WHERE p.fleet = proposals_as_of.fleet AND p.position <= proposals_as_of."position"
       AND ledger.is_decided(proposals_as_of.fleet, proposals_as_of."position");
  END
;;
CREATE OR REPLACE FUNCTION ledger_api.refusals_as_of(fleet text, "position" bigint)
  RETURNS SETOF ledger_api.refusals
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT r.fleet, r.number, r.position, r.kind_wanted, r.subject, r.reason, r.detail,
           r.open OR coalesce(r.ended_position > refusals_as_of."position", false),
           CASE WHEN r.ended_position <= refusals_as_of."position" THEN r.resolved_by END,
           CASE WHEN r.ended_position <= refusals_as_of."position" THEN r.ended_position END
      FROM ledger_api.refusals r
     WHERE r.fleet = refusals_as_of.fleet AND r.position <= refusals_as_of."position"
       AND ledger.is_decided(refusals_as_of.fleet, refusals_as_of."position");
  END
;;
-- Before the first event there is a fleet without events.
CREATE OR REPLACE FUNCTION ledger_api.fleets_as_of(fleet text, "position" bigint)
  RETURNS SETOF ledger_api.fleets
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT v.fleet, v.clock, v.created_at,
           (SELECT max(i.incarnation) FROM ledger.incarnations_over_time i
             WHERE i.fleet = v.fleet AND i.from_size <= s.events),
           s.events,
           (SELECT e.recorded_at FROM ledger_api.events e WHERE e.fleet = v.fleet AND e.position = s.events - 1),
           (SELECT h.root FROM ledger.heads_over_time h
             WHERE h.fleet = v.fleet AND h.tree = 'events' AND h.size = s.events),
           s.decisions,
           (SELECT h.root FROM ledger.heads_over_time h
             WHERE h.fleet = v.fleet AND h.tree = 'decisions' AND h.size = s.decisions),
           nullif(s.events - 1, -1),
           0::bigint, NULL::timestamptz, NULL::double precision,
           (SELECT count(*) FROM ledger_api.open_refusals_as_of(fleets_as_of.fleet, fleets_as_of."position")),
           v.kept_from
      FROM ledger_api.fleets v
     CROSS JOIN LATERAL (
       SELECT greatest(least(v.events - 1, coalesce(fleets_as_of."position", -1)), -1) + 1 AS events,
              coalesce((SELECT d.number + 1 FROM ledger_api.decisions d
                         WHERE d.fleet = v.fleet AND d.position <= fleets_as_of."position"
                         ORDER BY d.position DESC, d.number DESC LIMIT 1), 0) AS decisions
     ) s
     WHERE v.fleet = fleets_as_of.fleet
       AND ledger.is_decided(fleets_as_of.fleet, fleets_as_of."position");
  END
;;
-- The last event by a time that is decided; null before the first. A fleet is looked for here too: as of null there
-- is nothing to look at, and what nobody looks at refuses nothing.
CREATE FUNCTION ledger.decided_at(fleet text, moment timestamptz) RETURNS bigint
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT CASE WHEN NOT ledger.is_decided(decided_at.fleet, NULL) THEN NULL
                WHEN found.at > found.through THEN found.through
                ELSE found.at END
      FROM (SELECT ledger_api.position_at(decided_at.fleet, decided_at.moment) AS at,
                   (SELECT d.through FROM ledger.decided_over_time d
                     WHERE d.fleet = decided_at.fleet) AS through) found;
  END
;;
DO $$
DECLARE state text;
BEGIN
  FOREACH state IN ARRAY ARRAY['placements', 'running_tasks', 'fair_shares', 'open_refusals', 'refusals',
                               'proposals', 'fleets', 'disk_books', 'job_books', 'queue_books'] LOOP
    EXECUTE format($f$
      CREATE OR REPLACE FUNCTION ledger_api.%1$s_at(fleet text, moment timestamptz) RETURNS SETOF ledger_api.%1$s
        LANGUAGE sql STABLE
        BEGIN ATOMIC
          SELECT t.*
            FROM ledger_api.%1$s_as_of(%1$s_at.fleet, (SELECT ledger.decided_at(%1$s_at.fleet, %1$s_at.moment))) t;
        END $f$, state);
    EXECUTE format('COMMENT ON FUNCTION ledger_api.%1$I(text, timestamptz) IS %2$L', state || '_at',
                   'The same as of a time: of the last event by then that is decided.');
  END LOOP;
END
$$
;;
GRANT SELECT ON ledger.decided_over_time
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
REVOKE EXECUTE ON FUNCTION ledger.is_decided(text, bigint), ledger.refuse_undecided(text, bigint, bigint),
    ledger.refuse_fleet(text), ledger.decided_at(text, timestamptz) FROM PUBLIC
;;
GRANT EXECUTE ON FUNCTION ledger.is_decided(text, bigint), ledger.refuse_undecided(text, bigint, bigint),
    ledger.refuse_fleet(text), ledger.decided_at(text, timestamptz)
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
