-- Leases of periodic jobs that run in one process of the deployment at a time.
CREATE TABLE job_leases (
    name       TEXT NOT NULL PRIMARY KEY,
    -- Process that runs the job, as in `processes`.
    process_id TEXT NOT NULL,
    -- End of the lease, in milliseconds since 1970.
    until      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
