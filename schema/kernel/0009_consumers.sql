-- Durable consumers of the event log. Each has a cursor, which moves in the transaction of its
-- effects. Its row lock lets one process at a time handle events for it.
CREATE TABLE event_consumers (
    name     text COLLATE "C" PRIMARY KEY,
    seq      bigint NOT NULL CHECK (seq >= 0),  -- the last event that it handled
    begun_at timestamptz NOT NULL,
    moved_at timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON event_consumers TO {system};

-- Whoever trims the log keeps what a consumer has not handled: what is gone is never handled.
CREATE VIEW invariant_events_missed WITH (security_invoker = true) AS
    SELECT c.name, c.seq FROM event_consumers c
    WHERE c.seq + 1 < coalesce(
        (SELECT min(e.seq) FROM events e),
        (SELECT h.seq + 1 FROM feed_heads h WHERE h.feed = 'events'));
GRANT SELECT ON invariant_events_missed TO {system};
