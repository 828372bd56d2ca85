-- Leases of periodic jobs that run in one process of the deployment at a time.
CREATE TABLE job_leases (
    name       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    -- Process that runs the job, as in `processes`.
    process_id TEXT COLLATE "C" NOT NULL,
    -- End of the lease, in milliseconds since 1970.
    until      BIGINT NOT NULL
);
