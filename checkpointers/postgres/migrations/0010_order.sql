-- Ids mostly ascend with the keys of their namespace. Rows whose ids do are found by their order, and need no index of ids.
ALTER TABLE flowfn.checkpoint RENAME TO former;
ALTER TABLE flowfn.former ALTER COLUMN key DROP DEFAULT, DROP CONSTRAINT checkpoint_pkey;
ALTER TABLE flowfn.former DROP CONSTRAINT a_delta_changes_a_value, DROP CONSTRAINT a_value_is_beside_another;
DROP INDEX flowfn.checkpoint_id;

-- Of a namespace's rows the first ones are `ordered`: each has a greater id than those before it. One that was forgotten
-- keeps its id.
CREATE TABLE flowfn.checkpoint (
    thread bigint NOT NULL,
    key bigint NOT NULL DEFAULT nextval('flowfn.tick'),
    onto bigint CONSTRAINT a_delta_changes_a_value CHECK (onto > 0),
    beside bigint CONSTRAINT a_value_is_beside_another CHECK (beside >= 0),
    ordered boolean NOT NULL DEFAULT false,
    id bytea NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    said bytea,
    places text,
    data bytea
);

INSERT INTO flowfn.checkpoint
    SELECT thread, key, onto, beside, bool_and(ascends) OVER (PARTITION BY thread, namespace ORDER BY key),
        id, namespace, said, places, data
    FROM (
        SELECT *, said IS NOT NULL AND coalesce(
            id > lag(id) OVER (PARTITION BY thread, namespace ORDER BY key), true) AS ascends
        FROM flowfn.former) AS compared
    ORDER BY key;

DROP TABLE flowfn.former;
ALTER TABLE flowfn.checkpoint ADD CONSTRAINT checkpoint_pkey PRIMARY KEY (thread, namespace, key) WITH (fillfactor = 100);
CREATE UNIQUE INDEX checkpoint_id ON flowfn.checkpoint (id, namespace, thread) WHERE NOT ordered;

-- The key of a checkpoint, or NULL: an id out of order is in the index, another one is where its order is. Within a
-- statement that has locked a thread's row, they see what was committed until then, as volatile functions do.
CREATE FUNCTION flowfn.key_of(of bigint, space text, wanted bytea) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    low bigint := 0;
    middle bigint;
    high bigint;
    at bigint;
    there bytea;
    in_order boolean;
    put boolean;
BEGIN
    SELECT key INTO at FROM flowfn.checkpoint
        WHERE id = wanted AND namespace || '' = space AND thread = of AND NOT ordered;
    IF at IS NOT NULL THEN RETURN at; END IF;
    SELECT key, id, ordered, said IS NOT NULL INTO at, there, in_order, put FROM flowfn.checkpoint
        WHERE thread = of AND namespace = space ORDER BY key DESC LIMIT 1;
    IF at IS NULL OR in_order AND there < wanted THEN RETURN NULL; END IF;
    high := at;
    middle := at;
    LOOP
        IF at IS NULL OR NOT in_order OR there > wanted THEN high := middle - 1;
        ELSIF there < wanted THEN low := at + 1;
        ELSE RETURN CASE WHEN put THEN at END;
        END IF;
        EXIT WHEN low > high;
        middle := (low + high) / 2;
        SELECT key, id, ordered, said IS NOT NULL INTO at, there, in_order, put FROM flowfn.checkpoint
            WHERE thread = of AND namespace = space AND key BETWEEN middle AND high ORDER BY key LIMIT 1;
    END LOOP;
    RETURN NULL;
END $$;

-- Whether a checkpoint that is put now is `ordered`; an error where it is there already.
CREATE FUNCTION flowfn.follows(of bigint, space text, new bytea, OUT answer boolean) LANGUAGE plpgsql AS $$
BEGIN
    SELECT coalesce((
        SELECT ordered AND id < new FROM flowfn.checkpoint
        WHERE thread = of AND namespace = space ORDER BY key DESC LIMIT 1), true) INTO answer;
    IF NOT answer THEN
        IF flowfn.key_of(of, space, new) IS NOT NULL THEN
            RAISE unique_violation USING MESSAGE = 'this checkpoint is there';
        END IF;
    END IF;
END $$;
