-- What is taken apart here is not written meanwhile.
LOCK TABLE ledger.fair_shares, ledger.past_fair_shares IN SHARE ROW EXCLUSIVE MODE
;;
-- What a namespace weighs, as a round told it last, where that is not 1.
CREATE TABLE ledger.namespace_weights (
  fleet integer NOT NULL,
  namespace text NOT NULL,
  weight numeric NOT NULL,
  from_position bigint NOT NULL,
  PRIMARY KEY (fleet, namespace)
) WITH (fillfactor = 50)
;;
-- How much of a resource there was to share out, as a round told it last.
CREATE TABLE ledger.shared_totals (
  fleet integer NOT NULL,
  resource text NOT NULL,
  total numeric NOT NULL,
  from_position bigint NOT NULL,
  PRIMARY KEY (fleet, resource)
) WITH (fillfactor = 50)
;;
DO $$
DECLARE state text;
BEGIN
  FOREACH state IN ARRAY ARRAY['namespace_weights', 'shared_totals'] LOOP
    EXECUTE format('ALTER TABLE ledger.%I ALTER COLUMN fleet SET (n_distinct = 10)', state);
    EXECUTE format('CREATE TABLE ledger.%I (LIKE ledger.%I, until_position bigint NOT NULL, fork bigint NOT NULL)',
                   'past_' || state, state);
    EXECUTE format('CREATE INDEX %I ON ledger.%I (fleet, fork, until_position, from_position)',
                   'past_' || state || '_by_fork', 'past_' || state);
    EXECUTE format('CALL ledger.protect(%L)', 'ledger.past_' || state);
    EXECUTE format('GRANT SELECT ON ledger.%I, ledger.%I'
                   ' TO ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer',
                   state, 'past_' || state);
    EXECUTE format('GRANT INSERT ON ledger.%I, ledger.%I TO ledger_decider', state, 'past_' || state);
    EXECUTE format('GRANT UPDATE, DELETE ON ledger.%I TO ledger_decider', state);
  END LOOP;
END
$$
