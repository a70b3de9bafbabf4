-- Floors and residuals are static weight's; who took no part, or gets a copy, has no weight.
ALTER TABLE ledger.divisions
  ALTER COLUMN weight DROP NOT NULL,
  ALTER COLUMN floor DROP NOT NULL,
  ALTER COLUMN residual DROP NOT NULL,
  ADD COLUMN available bigint
;;
CREATE OR REPLACE VIEW ledger_api.divisions AS
SELECT f.name AS fleet,
       v.number,
       d.position,
       v.namespace,
       v.workload,
       v.cluster,
       v.weight,
       v.replicas,
       v.floor,
       v.residual,
       v.previous_replicas,
       d.branch,
       d.reasons ->> 'strategy' AS strategy,
       v.available
  FROM ledger.divisions v
  JOIN ledger.decisions d ON d.fleet = v.fleet AND d.number = v.number
  JOIN ledger.fleets f ON f.number = v.fleet
;;
COMMENT ON COLUMN ledger_api.divisions.weight IS 'The weight it was divided by: as wished, or its room; null where it took no part or got a copy.'
;;
COMMENT ON COLUMN ledger_api.divisions.floor IS 'The whole part of its weighted share; null but for static weight.'
;;
COMMENT ON COLUMN ledger_api.divisions.residual IS 'Whether it got one of the replicas that the whole parts left over; null but for static weight.'
;;
COMMENT ON COLUMN ledger_api.divisions.strategy IS 'static, webster, dynamic, aggregated or duplicated.'
;;
COMMENT ON COLUMN ledger_api.divisions.available IS 'How many more it could take; null where that was not asked.'
