-- The migrator acts as the owner; it needs the membership once, and a superuser needs none.
DO $$
BEGIN
  IF NOT pg_has_role(current_user, 'ledger_owner', 'MEMBER') THEN
    EXECUTE format('GRANT ledger_owner TO %I', current_user);
  END IF;
END
$$
