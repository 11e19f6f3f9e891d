-- What the tables are for is in flowfn/stores/postgres.py.

CREATE TABLE flowfn_store.item (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    prefix text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    json text,
    data bytea,
    texts jsonb,
    created double precision NOT NULL,
    updated double precision NOT NULL,
    ttl double precision,
    expires double precision
);
CREATE UNIQUE INDEX item_place ON flowfn_store.item (prefix, key);
CREATE INDEX item_order ON flowfn_store.item (prefix, id);
CREATE INDEX item_expires ON flowfn_store.item (expires) WHERE expires IS NOT NULL;

CREATE TABLE flowfn_store.vector (
    item bigint NOT NULL REFERENCES flowfn_store.item ON DELETE CASCADE,
    data bytea NOT NULL
);
CREATE INDEX vector_item ON flowfn_store.vector (item)
