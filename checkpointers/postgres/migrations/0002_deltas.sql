-- A value may be what changed in another; and two channels that hold the same share it, so it is of no channel.
ALTER TABLE flowfn.value
    DROP COLUMN channel,
    ADD COLUMN onto bigint CONSTRAINT a_delta_changes_a_value CHECK (onto > 0);
