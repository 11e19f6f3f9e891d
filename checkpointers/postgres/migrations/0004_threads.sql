-- A lease that is taken changes no index, and so costs no entries of them; and a page has room for the row's next form.
ALTER TABLE flowfn.thread SET (fillfactor = 70);
DROP INDEX flowfn.thread_unfinished;
CREATE INDEX thread_unfinished ON flowfn.thread (hashtextextended(call, 0))
    WHERE status IN ('running', 'interrupted', 'failed');
-- A lock is held by who adds to this table.
ALTER TABLE flowfn.migration DROP CONSTRAINT IF EXISTS migration_pkey;
