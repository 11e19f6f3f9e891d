-- A checkpoint's first value is in its row, what it says of itself is one msgpack array (`checkpointers/postgres/forms.py`),
-- and one index has both its key and the order of its thread.
ALTER TABLE flowfn.checkpoint RENAME TO former;
ALTER TABLE flowfn.former ALTER COLUMN key DROP DEFAULT;
DROP INDEX flowfn.checkpoint_id, flowfn.checkpoint_order;
ALTER TABLE flowfn.former DROP CONSTRAINT checkpoint_pkey;

CREATE TABLE flowfn.checkpoint (
    thread bigint NOT NULL,
    key bigint NOT NULL DEFAULT nextval('flowfn.tick'),
    onto bigint CONSTRAINT a_delta_changes_a_value CHECK (onto > 0),
    beside bigint CONSTRAINT a_value_is_beside_another CHECK (beside >= 0),
    id bytea NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    said bytea,
    places text,
    data bytea
);

-- An escaped name as it is meant, in UTF-8; and as msgpack.
CREATE FUNCTION flowfn.meant(name text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(string_agg(coalesce((
        SELECT string_agg(convert_to(replace(part, '\n', E'\n'), 'UTF8'), '\x00' ORDER BY m)
        FROM unnest(string_to_array(piece, '\0')) WITH ORDINALITY AS parts (part, m)), ''), '\x5c' ORDER BY n), '')
    FROM unnest(string_to_array(name, '\\')) WITH ORDINALITY AS pieces (piece, n) $$;
CREATE FUNCTION flowfn.packed(name text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT '\xdb'::bytea || int4send(octet_length(flowfn.meant(name))) || flowfn.meant(name) $$;
CREATE FUNCTION flowfn.packed(data bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce('\xc6'::bytea || int4send(octet_length(data)) || data, '\xc0') $$;

INSERT INTO flowfn.checkpoint
    SELECT thread, former.key, onto, beside, id, namespace,
        CASE WHEN body IS NOT NULL THEN
            '\x97'::bytea || flowfn.packed(parent) || coalesce('\xd2'::bytea || int4send(step), '\xc0') || flowfn.packed(source)
            || CASE octet_length(created_at) WHEN 8 THEN '\xd3'::bytea || created_at
                ELSE flowfn.packed(convert_from(CASE WHEN octet_length(created_at) = 9
                    AND substr(created_at, 9) = '\x00' THEN substr(created_at, 1, 8) ELSE created_at END, 'UTF8')) END
            || flowfn.packed(body) || flowfn.packed(metadata)
            || (SELECT '\xdd'::bytea || int4send(count(*)::integer)
                    || coalesce(string_agg(flowfn.packed(line), ''::bytea ORDER BY nth), '')
                FROM unnest((string_to_array(channels, E'\n'))[:cardinality(string_to_array(channels, E'\n')) - 1])
                    WITH ORDINALITY AS lines (line, nth)) END,
        places, data
    FROM flowfn.former LEFT JOIN flowfn.value ON value.key = former.key * 1048576 ORDER BY former.key;

DELETE FROM flowfn.value WHERE key % 1048576 = 0;
DROP FUNCTION flowfn.packed(bytea), flowfn.packed(text), flowfn.meant;
DROP TABLE flowfn.former;
CREATE UNIQUE INDEX checkpoint_id ON flowfn.checkpoint (id, namespace, thread) WITH (fillfactor = 100);
ALTER TABLE flowfn.checkpoint ADD CONSTRAINT checkpoint_pkey PRIMARY KEY (thread, namespace, key) WITH (fillfactor = 100);
-- A thread is found by its id; its row's next form is an entry of each index.
-- Of its tokens, those above `taken` were never taken away from who held them: they were given back, but for the last.
ALTER TABLE flowfn.thread DROP CONSTRAINT thread_pkey, ADD COLUMN taken bigint NOT NULL DEFAULT 0;
