DROP VIEW ledger.fair_shares_over_time
;;
ALTER VIEW ledger.shares_over_time RENAME TO fair_shares_over_time
;;
ALTER TABLE ledger.fair_shares
  DROP COLUMN weight,
  DROP COLUMN weighted_share
;;
ALTER TABLE ledger.past_fair_shares
  DROP COLUMN weight,
  DROP COLUMN weighted_share
