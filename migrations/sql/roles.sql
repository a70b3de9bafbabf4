-- Who may do what to the ledger. Group roles without login: people and processes get theirs by GRANT.
DO $$
DECLARE wanted text;
BEGIN
  FOREACH wanted IN ARRAY ARRAY[
    'ledger_owner',       -- owns every object; used by migrations only
    'ledger_maintainer',  -- partitions ahead, detach
    'ledger_writer',      -- consumers and the HTTP door: appends events
    'ledger_decider',     -- appends decisions
    'ledger_publisher',   -- moves the outbox cursor
    'ledger_signer',      -- stores signed checkpoints
    'ledger_reader'       -- the views of ledger_api, nothing else
  ] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
      BEGIN
        EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
      EXCEPTION
        -- Roles belong to the whole server: a migrator of another database may have been faster.
        WHEN duplicate_object OR unique_violation THEN NULL;
        WHEN insufficient_privilege THEN
          RAISE EXCEPTION 'role % is missing and % may not create it', wanted, current_user
            USING HINT = 'let an administrator run: CREATE ROLE ' || wanted || ' NOLOGIN';
      END;
    END IF;
  END LOOP;
END
$$
