-- The code of functions by its digest, which is of all threads.
CREATE TABLE flowfn.source (digest text COLLATE "C" PRIMARY KEY, data bytea NOT NULL);
