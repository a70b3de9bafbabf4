-- A checkpoint may be recorded once more when witnesses vouched for it later than it was signed.
ALTER TABLE ledger.checkpoints
  ADD COLUMN again smallint NOT NULL DEFAULT 0,
  DROP CONSTRAINT checkpoints_pkey,
  ADD CONSTRAINT checkpoints_pkey PRIMARY KEY (fleet, incarnation, tree, size, again)
;;
COMMENT ON COLUMN ledger.checkpoints.again IS
  'How often this note was recorded before, with fewer signatures of witnesses.'
