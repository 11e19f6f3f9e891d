-- A run changes `touched` twice, and a listing reads its threads anyway. Keys only grow, so that their pages may be full.
DROP INDEX flowfn.thread_touched;
ALTER INDEX flowfn.checkpoint_pkey SET (fillfactor = 100);
ALTER INDEX flowfn.value_pkey SET (fillfactor = 100);
ALTER INDEX flowfn.write_pkey SET (fillfactor = 100);
