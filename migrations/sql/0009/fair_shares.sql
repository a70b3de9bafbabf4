-- How namespaces stand in their queues; derived, replaced by each round that says so.
CREATE TABLE ledger.fair_shares (
  fleet          integer NOT NULL,
  queue          text NOT NULL,
  namespace      text NOT NULL,
  resource       text NOT NULL,
  number         bigint NOT NULL,
  weight         numeric NOT NULL,
  requested      numeric NOT NULL,
  deserved       numeric NOT NULL,
  deserved_exact text NOT NULL,
  allocated      numeric NOT NULL,
  weighted_share text NOT NULL,
  PRIMARY KEY (fleet, queue, namespace, resource)
)
;;
CREATE VIEW ledger_api.fair_shares AS
SELECT f.name AS fleet,
       s.queue,
       s.namespace,
       s.resource,
       s.number,
       s.weight,
       s.requested,
       s.deserved,
       s.deserved_exact,
       s.allocated,
       s.weighted_share
  FROM ledger.fair_shares s
  JOIN ledger.fleets f ON f.number = s.fleet
;;
COMMENT ON VIEW ledger_api.fair_shares IS 'A namespace in a queue and a resource a row, as of the last round that placed or evicted anything.'
;;
COMMENT ON COLUMN ledger_api.fair_shares.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.fair_shares.queue IS 'The queue.'
;;
COMMENT ON COLUMN ledger_api.fair_shares.namespace IS 'The namespace.'
;;
COMMENT ON COLUMN ledger_api.fair_shares.resource IS 'The resource that is counted: cpu in milli-cores, memory and storage in bytes.'
;;
COMMENT ON COLUMN ledger_api.fair_shares.number IS 'The decision that said so last: the first of its round.'
;;
COMMENT ON COLUMN ledger_api.fair_shares.weight IS 'What the namespace weighs.'
;;
COMMENT ON COLUMN ledger_api.fair_shares.requested IS 'What its jobs in the queue hold and wait for.'
;;
COMMENT ON COLUMN ledger_api.fair_shares.deserved IS 'Its part of what the queue deserves, in whole units, rounded down.'
;;
COMMENT ON COLUMN ledger_api.fair_shares.deserved_exact IS 'The same exactly, as num/den.'
;;
COMMENT ON COLUMN ledger_api.fair_shares.allocated IS 'What its tasks hold in the queue.'
;;
COMMENT ON COLUMN ledger_api.fair_shares.weighted_share IS 'The dominant share of all that it holds in the queue, divided by its weight, as num/den.'
