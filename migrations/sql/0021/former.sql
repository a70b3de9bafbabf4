ALTER TABLE ledger.placements
  DROP COLUMN number,
  DROP COLUMN since_position
;;
DROP TABLE ledger.former_placements
