-- History is written once. Grants already say so; this says it to owners and superusers as well.
CREATE FUNCTION ledger.refuse_change() RETURNS trigger
  LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%.% is history: % is refused', TG_TABLE_SCHEMA, TG_TABLE_NAME, lower(TG_OP)
    USING ERRCODE = 'LG010',
          HINT = 'a correction is a new event; ledger verify shows what was changed behind our back';
END
$$
;;
-- Make a table history: no row changes, no row leaves, the table is not emptied.
CREATE PROCEDURE ledger.protect(history regclass)
  LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format(
    'CREATE TRIGGER history_rows BEFORE UPDATE OR DELETE ON %s
       FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change()', history);
  EXECUTE format(
    'CREATE TRIGGER history_whole BEFORE TRUNCATE ON %s
       FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change()', history);
END
$$
;;
