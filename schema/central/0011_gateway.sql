-- How far the audit log is in object storage, for whoever asks this database. What counts is the
-- checkpoint over there, which whoever can write here cannot write.
CREATE TABLE audit_exports (
    single      boolean PRIMARY KEY DEFAULT true CHECK (single),
    seq         bigint NOT NULL DEFAULT 0,
    hash        bytea NOT NULL DEFAULT '\x00',
    begun_at    timestamptz, -- when a process first set out to export, by the database's clock
    exported_at timestamptz,
    store       text NOT NULL DEFAULT '', -- where; another one begins with the first entry
    fault       text NOT NULL DEFAULT '' -- why it does not go on
);
INSERT INTO audit_exports DEFAULT VALUES;
GRANT SELECT, UPDATE ON audit_exports TO {system};

-- An entry is late only if there was time to export it: a log may be older than its first exporter.
CREATE VIEW invariant_audit_export WITH (security_invoker = true) AS
    SELECT seq, fault FROM audit_exports WHERE fault <> ''
    UNION ALL
    SELECT x.seq, 'nothing was exported since ' || a.at FROM audit_exports x
    JOIN audit_entries a ON a.seq = x.seq + 1
    WHERE x.fault = '' AND a.at < now() - interval '10 minutes'
        AND x.begun_at < now() - interval '10 minutes';
GRANT SELECT ON invariant_audit_export TO {system};
