-- The forks of the spans in which a position lies, before and behind it. Positions are counted from 1 here, so that
-- each has a lowest bit. One that is too large for any fleet can be asked for: it is refused by name.
CREATE FUNCTION ledger.forks_before(at bigint) RETURNS bigint[]
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN ARRAY(SELECT ((least(at, 9223372036854775806) + 1) >> bit) << bit FROM generate_series(0, 61) AS bit
                WHERE ((least(at, 9223372036854775806) + 1) >> bit) & 1 = 1 ORDER BY bit)
;;
CREATE FUNCTION ledger.forks_behind(at bigint) RETURNS bigint[]
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN ARRAY(SELECT (((least(at, 9223372036854775806) + 1) >> bit) | 1) << bit FROM generate_series(0, 61) AS bit
                WHERE ((least(at, 9223372036854775806) + 1) >> bit) & 1 = 0 ORDER BY bit)
;;
-- For the ledger's own fleet nothing is decided, so that none of its events waits for that.
CREATE VIEW ledger.decided_over_time WITH (security_barrier = true) AS
SELECT f.name AS fleet,
       CASE WHEN f.name = '_ledger'
            THEN coalesce((SELECT max(h.size) FROM ledger.heads h WHERE h.fleet = f.number AND h.tree = 'events'), 0) - 1
            ELSE coalesce((SELECT max(d.through) FROM ledger.decided d WHERE d.fleet = f.number), -1)
       END AS through
  FROM ledger.seen_fleets f
;;
CREATE FUNCTION ledger.refuse_undecided(fleet text, "position" bigint, through bigint) RETURNS boolean
  LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF fleet = '_ledger' THEN
    RAISE EXCEPTION 'fleet %: it has no event at position % yet', fleet, "position" USING ERRCODE = 'LG016';
  END IF;
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
CREATE FUNCTION ledger.last_by(fleet text, moment timestamptz) RETURNS bigint
  LANGUAGE plpgsql STABLE STRICT AS $$
DECLARE
  lowest  bigint := -1;
  highest bigint;
  middle  bigint;
  there   timestamptz;
BEGIN
  SELECT v.events - 1 INTO highest FROM ledger_api.fleets v WHERE v.fleet = last_by.fleet;
  -- Fleet time never runs backwards with position. What was archived is older than what is here.
  WHILE lowest < highest LOOP
    middle := (lowest + highest + 1) / 2;
    SELECT e.recorded_at INTO there FROM ledger_api.events e
     WHERE e.fleet = last_by.fleet AND e.position = middle;
    IF there > moment THEN
      highest := middle - 1;
    ELSE
      lowest := middle;
    END IF;
  END LOOP;
  RETURN nullif(highest, -1);
END
$$
;;
-- Of a fleet that is not there nothing is answered: not that there was no event, and not that nothing was decided.
CREATE FUNCTION ledger_api.position_at(fleet text, moment timestamptz) RETURNS bigint
  LANGUAGE sql STABLE STRICT
  BEGIN ATOMIC
    SELECT CASE WHEN ledger.is_decided(position_at.fleet, NULL)
                THEN ledger.last_by(position_at.fleet, position_at.moment) END;
  END
;;
COMMENT ON FUNCTION ledger_api.position_at(text, timestamptz) IS 'Position of the last event by a time; null before the first.'
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
