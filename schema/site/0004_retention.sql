-- What was done at a site goes in time. (What is desired, and what was told of it, goes with its
-- tombstone.)
CREATE INDEX tasks_age ON tasks (deadline);
GRANT DELETE ON tasks TO {system};

CREATE VIEW oldest_kept WITH (security_invoker = true) AS
    SELECT 'tasks' AS name, (SELECT min(t.deadline) FROM tasks t) AS at
    UNION ALL
    SELECT 'rejections', (SELECT min(r.rejected_at) FROM feed_rejections r);

-- Something is older than it is kept, and a day more. `held` says why, if that is known.
CREATE VIEW invariant_retention_overdue WITH (security_invoker = true) AS
    SELECT r.name, o.at AS oldest_at, r.kept::text AS kept, r.held
    FROM retentions r JOIN oldest_kept o ON o.name = r.name
    WHERE o.at < now() - r.kept - interval '1 day';
GRANT SELECT ON oldest_kept, invariant_retention_overdue TO {system};
