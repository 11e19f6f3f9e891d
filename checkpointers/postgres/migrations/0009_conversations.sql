-- A thread that has one run after another is found by its workflow, which stays the same: neither its beginnings nor its
-- ends are entries of any index then, and its row's forms follow each other within a page.
ALTER TABLE flowfn.thread ADD COLUMN runs smallint NOT NULL DEFAULT 0, ADD COLUMN sought bigint;
DROP INDEX flowfn.thread_unfinished;
UPDATE flowfn.thread SET sought = hashtextextended(call, 0) WHERE status IN ('running', 'interrupted', 'failed');
CREATE INDEX thread_sought ON flowfn.thread (sought) WHERE sought IS NOT NULL;
