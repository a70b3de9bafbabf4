CREATE VIEW ledger_api.stops AS
SELECT f.name AS fleet,
       s.incarnation,
       s.component,
       s.reason,
       s.detail,
       s.stopped_at,
       s.incarnation = (SELECT max(i.incarnation) FROM ledger.incarnations i WHERE i.fleet = f.number) AS stands
  FROM ledger.fleet_stops s
  JOIN ledger.seen_fleets f ON f.number = s.fleet
;;
COMMENT ON VIEW ledger_api.stops IS
  'Fleets that were stopped because somebody remembered more of their log than was there: a row for each who did.'
;;
COMMENT ON COLUMN ledger_api.stops.fleet IS 'The fleet.'
;;
COMMENT ON COLUMN ledger_api.stops.incarnation IS 'Which life of its log was stopped.'
;;
COMMENT ON COLUMN ledger_api.stops.component IS 'Who noticed: signer, consumer, publisher or decider.'
;;
COMMENT ON COLUMN ledger_api.stops.reason IS 'Why: log_rewound, log_forked or log_rewritten.'
;;
COMMENT ON COLUMN ledger_api.stops.detail IS 'What was remembered, and what is there.'
;;
COMMENT ON COLUMN ledger_api.stops.stopped_at IS 'When it was noticed first.'
;;
COMMENT ON COLUMN ledger_api.stops.stands IS 'Whether the fleet still stands; false once ledger recover began its next life.'
;;
ALTER VIEW ledger_api.stops SET (security_barrier = true)
;;
