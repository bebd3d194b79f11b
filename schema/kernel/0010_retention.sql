-- What grows is bounded: how long each kind is kept, where each log begins now, and feeds whose
-- documents end.

-- How long each kind of row is kept, as the process that trims it says (kernel/retention.py), and
-- how far it is. `invariant_retention_overdue` of each plane compares this with the rows themselves.
CREATE TABLE retentions (
    name      text COLLATE "C" PRIMARY KEY,
    kept      interval NOT NULL CHECK (kept > interval '0'),
    trimmed   bigint NOT NULL DEFAULT 0 CHECK (trimmed >= 0),  -- rows, ever
    looked_at timestamptz NOT NULL,
    held      text NOT NULL DEFAULT ''  -- why something older is still there
);
GRANT SELECT, INSERT, UPDATE, DELETE ON retentions TO {system};

-- A log goes on after `seq`: what was up to it is trimmed. `hash` is the chain's at that point: of
-- the audit log its own, of others the chain of what was exported.
CREATE TABLE log_starts (
    log  text COLLATE "C" PRIMARY KEY,
    seq  bigint NOT NULL DEFAULT 0 CHECK (seq >= 0),
    hash bytea NOT NULL DEFAULT '\x00',
    at   timestamptz  -- the time of the last entry that was trimmed
);
INSERT INTO log_starts (log) VALUES ('audit'), ('events');
GRANT SELECT, UPDATE ON log_starts TO {system};
GRANT SELECT ON log_starts TO {app};  -- whoever follows events is told where they begin

-- A start only moves forward, and never past what somebody still has to handle.
CREATE FUNCTION log_may_start() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
    late record;
BEGIN
    IF NEW.log <> OLD.log OR NEW.seq < OLD.seq THEN
        RAISE integrity_constraint_violation USING
            MESSAGE = format('%s cannot begin at %s again', OLD.log, NEW.seq);
    END IF;
    IF NEW.log = 'events' THEN
        SELECT c.name, c.seq INTO late FROM event_consumers c WHERE c.seq < NEW.seq LIMIT 1;
        IF FOUND THEN
            RAISE integrity_constraint_violation USING MESSAGE = format(
                'consumer %s has handled events up to %s; those after it stay', late.name, late.seq);
        END IF;
    END IF;
    RETURN NEW;
END $$;
REVOKE EXECUTE ON FUNCTION log_may_start FROM PUBLIC;  -- firing needs no right
CREATE TRIGGER log_may_start BEFORE UPDATE ON log_starts
    FOR EACH ROW EXECUTE FUNCTION log_may_start();

-- Even the system deletes nothing that its log still has.
GRANT DELETE ON events, audit_entries TO {system};
CREATE POLICY trimmed ON events AS RESTRICTIVE FOR DELETE TO {system}
    USING (seq <= (SELECT s.seq FROM log_starts s WHERE s.log = 'events'));
CREATE POLICY trimmed ON audit_entries AS RESTRICTIVE FOR DELETE TO {system}
    USING (seq <= (SELECT s.seq FROM log_starts s WHERE s.log = 'audit'));
CREATE INDEX feed_rejections_age ON feed_rejections (rejected_at);

-- The chain goes on from where the log begins.
CREATE OR REPLACE VIEW invariant_audit_chain WITH (security_invoker = true) AS
    SELECT entry.seq FROM (
        SELECT a.*, lag(a.hash, 1, s.hash) OVER (ORDER BY a.seq) AS previous,
            s.seq + row_number() OVER (ORDER BY a.seq) AS place
        FROM audit_entries a JOIN log_starts s ON s.log = 'audit') AS entry
    WHERE place <> seq OR hash <> audit_hash(previous, seq, tenant_id, actor, action, subject,
        detail, reason, correlation_id, at)
    UNION ALL
    SELECT h.seq FROM audit_head h JOIN log_starts s ON s.log = 'audit'
    WHERE h.seq <> s.seq + (SELECT count(*) FROM audit_entries)
        OR h.seq > s.seq AND NOT EXISTS (
            SELECT FROM audit_entries a WHERE a.seq = h.seq AND a.hash = h.hash)
        OR h.seq = s.seq AND h.hash <> s.hash;

CREATE OR REPLACE FUNCTION audit_faults(after_seq bigint, until_seq bigint)
    RETURNS TABLE (at_seq bigint, fault text)
    LANGUAGE sql STABLE AS $$
    WITH start AS (
        SELECT s.seq, s.hash FROM log_starts s WHERE s.log = 'audit'
    ), entry AS (
        SELECT a.*, lag(a.seq, 1, greatest(after_seq, start.seq)) OVER in_order AS before,
            lag(a.hash, 1, start.hash) OVER in_order AS previous
        FROM audit_entries a, start WHERE a.seq BETWEEN after_seq AND until_seq
        WINDOW in_order AS (ORDER BY a.seq)
    )
    SELECT e.seq, CASE
        WHEN e.seq > e.before + 1
            THEN format('the entries from %s to %s are missing', e.before + 1, e.seq - 1)
        ELSE 'it is not what its hash was made from' END
    FROM entry e
    WHERE e.seq > after_seq AND (e.seq > e.before + 1 OR e.hash <> audit_hash(e.previous, e.seq,
        e.tenant_id, e.actor, e.action, e.subject, e.detail, e.reason, e.correlation_id, e.at))
    UNION ALL
    SELECT a.seq, 'no entry has such a number' FROM audit_entries a, start
    WHERE a.seq <= start.seq AND after_seq <= start.seq
    UNION ALL
    SELECT a.seq, format('it is beyond the head of the log, %s', h.seq)
    FROM audit_head h JOIN audit_entries a ON a.seq > h.seq WHERE until_seq >= h.seq
    UNION ALL
    SELECT h.seq, 'the log does not end with the entry that its head names'
    FROM audit_head h, start
    WHERE h.seq BETWEEN 1 AND until_seq AND (h.seq, h.hash) <> (start.seq, start.hash)
        AND NOT EXISTS (SELECT FROM audit_entries a WHERE a.seq = h.seq AND a.hash = h.hash)
    ORDER BY 1
$$;

-- As before; and an entry may be the last of its key: it replaces the document, and goes when it is
-- acknowledged, as an entry without a key does.
DROP FUNCTION append_outgoing;
CREATE FUNCTION append_outgoing(
    audit jsonb, happened jsonb, feeds text[], keys text[], bodies bytea[], lasts boolean[],
    told text[], now_at timestamptz) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    head record;
    item record;
    entries audit_entries[] := '{}';
    touched text := nullif(array_to_string(told, ','), '');
BEGIN
    IF jsonb_array_length(audit) > 0 THEN
        SELECT h.seq, h.hash INTO STRICT head FROM audit_head h FOR UPDATE;
        FOR item IN SELECT * FROM jsonb_to_recordset(audit) AS a (
            tenant_id text, actor text, action text, subject text, detail jsonb, reason text,
            correlation_id text)
        LOOP
            head.seq := head.seq + 1;
            head.hash := audit_hash(head.hash, head.seq, item.tenant_id, item.actor, item.action,
                item.subject, item.detail, item.reason, item.correlation_id, now_at);
            entries := entries || ROW(head.seq, item.tenant_id, item.actor, item.action,
                item.subject, item.detail, item.reason, item.correlation_id, now_at,
                head.hash)::audit_entries;
        END LOOP;
        INSERT INTO audit_entries SELECT * FROM unnest(entries);
        UPDATE audit_head SET seq = head.seq, hash = head.hash;
        touched := concat_ws(',', touched, 'audit');
    END IF;

    IF jsonb_array_length(happened) > 0 THEN
        INSERT INTO feed_heads AS h VALUES ('events', jsonb_array_length(happened))
            ON CONFLICT (feed) DO UPDATE SET seq = h.seq + excluded.seq
            RETURNING h.seq - jsonb_array_length(happened) AS before INTO head;
        INSERT INTO events (seq, id, tenant_id, type, subject, data, correlation_id, at)
            SELECT head.before + ord, e.value->>'id', e.value->>'tenant_id', e.value->>'type',
                e.value->>'subject', e.value->'data', e.value->>'correlation_id', now_at
            FROM jsonb_array_elements(happened) WITH ORDINALITY AS e (value, ord);
        touched := concat_ws(',', touched, 'events');
    END IF;

    FOR item IN
        SELECT feed, count(*) AS added FROM unnest(feeds) AS feed GROUP BY feed ORDER BY feed
    LOOP
        INSERT INTO feed_heads AS h VALUES (item.feed, item.added)
            ON CONFLICT (feed) DO UPDATE SET seq = h.seq + excluded.seq
            RETURNING h.seq - item.added AS before INTO head;
        INSERT INTO feed_entries (feed, seq, key, body, created_at)
            SELECT item.feed, head.before + row_number() OVER (ORDER BY n.ord), n.key, n.body, now_at
            FROM unnest(feeds, keys, bodies) WITH ORDINALITY AS n (feed, key, body, ord)
            WHERE n.feed = item.feed
            ON CONFLICT (feed, key) WHERE key IS NOT NULL DO UPDATE
            SET seq = excluded.seq, body = excluded.body, created_at = excluded.created_at;
        IF true = ANY(lasts) THEN
            UPDATE feed_entries e SET key = NULL
            FROM unnest(feeds, keys, lasts) AS n (feed, key, last)
            WHERE n.last AND n.feed = item.feed AND e.feed = item.feed AND e.key = n.key;
        END IF;
        touched := concat_ws(',', touched, item.feed);
    END LOOP;

    -- NOTIFY takes a lock of its own at commit: at most one a transaction.
    IF touched IS NOT NULL THEN
        PERFORM pg_notify('penstock', CASE WHEN length(touched) < 7000 THEN touched ELSE '*' END);
    END IF;
END $$;
GRANT CREATE ON SCHEMA public TO {system};  -- an owner must have it while it becomes one
ALTER FUNCTION append_outgoing OWNER TO {system};
REVOKE CREATE ON SCHEMA public FROM {system};
REVOKE EXECUTE ON FUNCTION append_outgoing FROM PUBLIC;
GRANT EXECUTE ON FUNCTION append_outgoing TO {app}, {system};
