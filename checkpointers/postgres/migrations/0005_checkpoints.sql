-- Ids are bytes, channel maps are text, and the key of a checkpoint is its place: `checkpointers/postgres/schema.py`.
ALTER TABLE flowfn.checkpoint RENAME TO former;
ALTER TABLE flowfn.value RENAME TO former_value;
DROP INDEX flowfn.checkpoint_id, flowfn.checkpoint_place, flowfn.checkpoint_order, flowfn.value_checkpoint;
ALTER TABLE flowfn.former DROP CONSTRAINT checkpoint_pkey;
ALTER TABLE flowfn.former_value DROP CONSTRAINT value_pkey, DROP CONSTRAINT a_delta_changes_a_value;
UPDATE flowfn.former SET place = nextval('flowfn.tick'), body = NULL WHERE place IS NULL;

CREATE TABLE flowfn.checkpoint (
    key bigint PRIMARY KEY DEFAULT nextval('flowfn.tick'),
    thread bigint NOT NULL,
    step integer,
    id bytea NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    parent bytea,
    source text,
    created_at bytea,
    body bytea,
    metadata bytea,
    channels text,
    places text
);

CREATE TABLE flowfn.value (
    key bigint PRIMARY KEY,
    onto bigint CONSTRAINT a_delta_changes_a_value CHECK (onto > 0),
    beside bigint CONSTRAINT a_value_is_beside_another CHECK (beside >= 0),
    data bytea NOT NULL
);

CREATE TABLE flowfn.moved AS
    SELECT former_value.key AS was,
        place * 1048576 + row_number() OVER (PARTITION BY place ORDER BY former_value.key) - 1 AS key
    FROM flowfn.former_value JOIN flowfn.former ON former.key = former_value.checkpoint;

INSERT INTO flowfn.value
    SELECT moved.key, onto.key, NULL, data
    FROM flowfn.former_value JOIN flowfn.moved ON moved.was = former_value.key
    LEFT JOIN flowfn.moved AS onto ON onto.was = former_value.onto;

CREATE FUNCTION flowfn.short_id(id text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'
            THEN decode(replace(id, '-', ''), 'hex')
        WHEN octet_length(id) = 16 THEN convert_to(id, 'UTF8') || '\x00'::bytea
        ELSE convert_to(id, 'UTF8') END $$;

INSERT INTO flowfn.checkpoint
    SELECT place, thread, step, flowfn.short_id(id), namespace, flowfn.short_id(parent), source,
        convert_to(replace(created_at, '\', '\\'), 'UTF8')
            || CASE octet_length(replace(created_at, '\', '\\')) WHEN 8 THEN '\x00'::bytea ELSE '' END,
        body, metadata,
        CASE WHEN body IS NOT NULL THEN (
            SELECT coalesce(string_agg(replace(channel, E'\n', '\n') || E'\n', '' ORDER BY nth), '')
            FROM unnest(channels) WITH ORDINALITY AS held (channel, nth)) END,
        CASE WHEN body IS NOT NULL THEN (
            SELECT coalesce(string_agg(
                version || CASE WHEN moved.key IS NULL THEN '' ELSE
                    ':' || (place - (moved.key >> 20))
                    || CASE moved.key & 1048575 WHEN 0 THEN '' ELSE '.' || (moved.key & 1048575) END END,
                ' ' ORDER BY nth), '')
            FROM unnest(versions, stored) WITH ORDINALITY AS held (version, stored, nth)
            LEFT JOIN flowfn.moved ON moved.was = stored) END
    FROM flowfn.former;

UPDATE flowfn.write SET checkpoint = place FROM flowfn.former WHERE former.key = write.checkpoint;
DROP FUNCTION flowfn.short_id;
DROP TABLE flowfn.former, flowfn.former_value, flowfn.moved;
CREATE UNIQUE INDEX checkpoint_id ON flowfn.checkpoint (thread, id, namespace);
CREATE INDEX checkpoint_order ON flowfn.checkpoint (thread, namespace, key) WHERE body IS NOT NULL;
