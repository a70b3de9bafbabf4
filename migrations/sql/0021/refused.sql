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
CREATE OR REPLACE FUNCTION ledger_api.position_at(fleet text, moment timestamptz) RETURNS bigint
  LANGUAGE sql STABLE STRICT
  BEGIN ATOMIC
    SELECT CASE WHEN ledger.is_decided(position_at.fleet, NULL)
                THEN ledger.last_by(position_at.fleet, position_at.moment) END;
  END
;;
REVOKE EXECUTE ON FUNCTION ledger.last_by(text, timestamptz) FROM PUBLIC
;;
GRANT EXECUTE ON FUNCTION ledger.last_by(text, timestamptz)
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
-- An answer stays the answer: what is not decided yet is no end.
CREATE OR REPLACE FUNCTION ledger_api.decisions_between(fleet text, "from" bigint, "to" bigint)
  RETURNS SETOF ledger_api.decisions
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT d.* FROM ledger_api.decisions d
     WHERE d.fleet = decisions_between.fleet
       AND d.position >= decisions_between."from" AND d.position <= decisions_between."to"
       AND ledger.is_decided(decisions_between.fleet, decisions_between."to");
  END
;;
CREATE OR REPLACE FUNCTION ledger_api.decisions_between(fleet text, "from" timestamptz, "to" timestamptz)
  RETURNS SETOF ledger_api.decisions
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT d.*
      FROM ledger_api.decisions_between(
             decisions_between.fleet,
             (SELECT coalesce(ledger_api.position_at(decisions_between.fleet,
                                                     decisions_between."from" - interval '1 microsecond'), -1) + 1),
             (SELECT ledger.decided_at(decisions_between.fleet, decisions_between."to"))) d;
  END
;;
COMMENT ON COLUMN ledger_api.placements.number IS
  'The newest decision about the subject that is in force; of a job it is the last round that placed or evicted any of its tasks.'
