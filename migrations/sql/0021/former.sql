DROP VIEW ledger.placements_over_time
;;
ALTER VIEW ledger.places_over_time RENAME TO placements_over_time
;;
DROP TABLE ledger.past_placements
;;
ALTER TABLE ledger.past_places RENAME TO past_placements
;;
ALTER INDEX ledger.past_places_by_fork RENAME TO past_placements_by_fork
;;
ALTER INDEX ledger.past_places_by_subject RENAME TO past_placements_by_subject
;;
ALTER TABLE ledger.placements
  DROP COLUMN number,
  DROP COLUMN since_position
;;
-- A table that is known to be empty is read whole, and deciders keep that plan while it fills.
DO $$
BEGIN
  IF EXISTS (SELECT FROM ledger.placements) AND EXISTS (SELECT FROM ledger.past_placements) THEN
    ANALYZE ledger.placements, ledger.past_placements, ledger.placed_by, ledger.past_placed_by;
  END IF;
END
$$
