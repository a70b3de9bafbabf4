GRANT SELECT ON ledger.running_tasks, ledger.disk_books, ledger.job_books, ledger.queue_books
  TO ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
GRANT INSERT, DELETE ON ledger.running_tasks, ledger.disk_books, ledger.job_books, ledger.queue_books
  TO ledger_decider
;;
GRANT SELECT ON ledger_api.running_tasks, ledger_api.disk_books, ledger_api.queue_books
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
