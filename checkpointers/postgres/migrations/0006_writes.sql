-- What a commit adds under a checkpoint is one row: `checkpointers/postgres/forms.py` has its bytes, which are msgpack.
ALTER TABLE flowfn.write RENAME TO former;
ALTER TABLE flowfn.former ALTER COLUMN key DROP IDENTITY;
ALTER TABLE flowfn.former DROP CONSTRAINT write_pkey;

CREATE TABLE flowfn.write (
    checkpoint bigint NOT NULL,
    key bigint GENERATED ALWAYS AS IDENTITY,
    data bytea NOT NULL,
    PRIMARY KEY (checkpoint, key)
);

-- A name as msgpack, without the escapes of `flowfn.postgres.text`.
CREATE FUNCTION flowfn.packed(name text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT '\xdb'::bytea || int4send(octet_length(meant)) || meant FROM (
        SELECT coalesce(string_agg(coalesce((
            SELECT string_agg(convert_to(part, 'UTF8'), '\x00' ORDER BY m)
            FROM unnest(string_to_array(piece, '\0')) WITH ORDINALITY AS parts (part, m)), ''), '\x5c' ORDER BY n), '')
        FROM unnest(string_to_array(name, '\\')) WITH ORDINALITY AS pieces (piece, n)) AS escaped (meant) $$;

INSERT INTO flowfn.write (checkpoint, data)
    SELECT checkpoint, '\x95'::bytea || flowfn.packed(task) || '\xd3'::bytea || int8send(idx)
        || flowfn.packed(channel) || '\xc6'::bytea || int4send(octet_length(data)) || data || flowfn.packed(path)
    FROM flowfn.former ORDER BY checkpoint, key;

DROP FUNCTION flowfn.packed;
DROP TABLE flowfn.former;
