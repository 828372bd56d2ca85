-- The snapshot targets that this database has used, by address and by the content of their
-- snapshot-target.id: at the address of a recorded one, another one, such as the empty folder of a
-- disk that is not mounted, must not be taken for it. One address has several where disks take
-- turns.
CREATE TABLE snapshot_targets (
    address TEXT NOT NULL,
    target_id TEXT NOT NULL,
    PRIMARY KEY (address, target_id)
) STRICT, WITHOUT ROWID;
