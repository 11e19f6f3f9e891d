-- What the tables are for is in `checkpointers/postgres/schema.py`.

-- Says what came first: tokens, places and touches. It never returns a number, nor goes back with a transaction.
CREATE SEQUENCE flowfn.tick;

CREATE TABLE flowfn.thread (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    workflow text COLLATE "C" NOT NULL DEFAULT '',
    call text COLLATE "C" NOT NULL DEFAULT '',
    status text COLLATE "C" NOT NULL DEFAULT 'done',
    token bigint NOT NULL DEFAULT 0,
    owner text,
    expires timestamptz,
    created_at text NOT NULL,
    updated_at text NOT NULL,
    touched bigint NOT NULL DEFAULT nextval('flowfn.tick')
);
CREATE INDEX thread_touched ON flowfn.thread (touched);
CREATE INDEX thread_unfinished ON flowfn.thread (workflow, call)
    WHERE status IN ('running', 'interrupted', 'failed');

CREATE TABLE flowfn.checkpoint (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    thread bigint NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    place bigint,
    parent text COLLATE "C",
    step integer,
    source text,
    created_at text,
    body bytea,
    metadata bytea,
    channels text[],
    versions bigint[],
    stored bigint[]
);
CREATE UNIQUE INDEX checkpoint_id ON flowfn.checkpoint (thread, id, namespace);
CREATE UNIQUE INDEX checkpoint_place ON flowfn.checkpoint (place);
CREATE INDEX checkpoint_order ON flowfn.checkpoint (thread, namespace, place) WHERE place IS NOT NULL;

CREATE TABLE flowfn.value (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    checkpoint bigint NOT NULL,
    channel text NOT NULL,
    data bytea NOT NULL
);
CREATE INDEX value_checkpoint ON flowfn.value (checkpoint);

CREATE TABLE flowfn.write (
    checkpoint bigint NOT NULL,
    key bigint GENERATED ALWAYS AS IDENTITY,
    task text NOT NULL,
    idx bigint NOT NULL,
    channel text NOT NULL,
    data bytea NOT NULL,
    path text NOT NULL,
    PRIMARY KEY (checkpoint, key)
);
