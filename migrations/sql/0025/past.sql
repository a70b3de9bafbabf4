-- What was in force is known of every fleet from its beginning on: no row says that it is not, so that none can
-- keep anybody from looking.
DO $$
DECLARE one oid;
BEGIN
  FOR one IN SELECT p.oid FROM pg_proc p
              WHERE p.pronamespace = 'ledger_api'::regnamespace AND p.prokind = 'f'
                AND pg_get_functiondef(p.oid) LIKE '%ledger.is_kept(%' LOOP
    EXECUTE replace(pg_get_functiondef(one), 'ledger.is_kept(', 'ledger.is_decided(');
  END LOOP;
END
$$
;;
DROP FUNCTION ledger.is_kept(text, bigint)
;;
DROP VIEW ledger.histories_over_time
;;
DROP FUNCTION ledger.refuse_position(text, bigint, bigint)
