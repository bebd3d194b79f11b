-- A newer document takes the place of the one with its key, in the statement that appends it.
-- Deleting the old one first read every document of the feed wherever the planner took the table
-- for a small one: then a placement cost more with each lease that there ever was.
CREATE OR REPLACE FUNCTION append_outgoing(
    audit jsonb, happened jsonb, feeds text[], keys text[], bodies bytea[],
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
        touched := concat_ws(',', touched, item.feed);
    END LOOP;

    -- NOTIFY takes a lock of its own at commit: at most one a transaction.
    IF touched IS NOT NULL THEN
        PERFORM pg_notify('penstock', CASE WHEN length(touched) < 7000 THEN touched ELSE '*' END);
    END IF;
END $$;
