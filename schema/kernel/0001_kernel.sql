-- What every plane has: feeds, events, audit, idempotency.

-- The head of each feed. Its row lock numbers the feed: whoever appends holds it until
-- commit, so sequence order is commit order and a reader never skips a slower writer.
CREATE TABLE feed_heads (
    feed text COLLATE "C" PRIMARY KEY,
    seq  bigint NOT NULL CHECK (seq >= 0)
);

-- Entries wait here until their reader acknowledged them. An entry with a key is a
-- document: a newer one of the same key replaces it.
CREATE TABLE feed_entries (
    feed       text COLLATE "C" NOT NULL,
    seq        bigint NOT NULL,
    key        text COLLATE "C",
    body       bytea NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (feed, seq)
);
CREATE UNIQUE INDEX feed_entries_document ON feed_entries (feed, key) WHERE key IS NOT NULL;
ALTER TABLE feed_entries SET (toast_tuple_target = 8160);  -- short-lived: not worth compressing

-- How far this plane has applied each source. Moved in the transaction of the effects.
CREATE TABLE feed_cursors (
    source text COLLATE "C" PRIMARY KEY,
    seq    bigint NOT NULL CHECK (seq >= 0)
);

-- Entries that were understood well enough to be refused. They changed nothing else.
CREATE TABLE feed_rejections (
    source      text COLLATE "C" NOT NULL,
    seq         bigint NOT NULL,
    reason      text NOT NULL,
    body        bytea NOT NULL,
    rejected_at timestamptz NOT NULL,
    PRIMARY KEY (source, seq)
);

-- The one ordered log of what happened.
CREATE TABLE events (
    seq            bigint PRIMARY KEY,
    id             text COLLATE "C" NOT NULL,  -- unique by how it is made
    tenant_id      text COLLATE "C",
    type           text NOT NULL,
    subject        text COLLATE "C" NOT NULL,
    data           jsonb NOT NULL,
    correlation_id text NOT NULL,
    at             timestamptz NOT NULL
);
CREATE INDEX events_subject ON events (subject, seq);
CREATE INDEX events_tenant ON events (tenant_id, seq);

-- Who changed what. Each entry's hash covers the one before it.
CREATE TABLE audit_entries (
    seq            bigint PRIMARY KEY,
    tenant_id      text COLLATE "C",
    actor          text NOT NULL,
    action         text NOT NULL,
    subject        text COLLATE "C" NOT NULL,
    detail         jsonb NOT NULL,
    reason         text NOT NULL,
    correlation_id text NOT NULL,
    at             timestamptz NOT NULL,
    hash           bytea NOT NULL
);
CREATE INDEX audit_entries_subject ON audit_entries (subject, seq);

CREATE TABLE audit_head (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    seq  bigint NOT NULL,
    hash bytea NOT NULL
);
INSERT INTO audit_head (seq, hash) VALUES (0, '\x00');

-- One answer per key and caller. Written in the transaction of the change.
CREATE TABLE idempotency_keys (
    tenant_id  text COLLATE "C",
    actor      text NOT NULL,
    key        text NOT NULL,
    request    bytea NOT NULL,
    status     integer,
    response   bytea,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (actor, key)
);

-- The tenant of this transaction. Empty after SET LOCAL ended, hence NULLIF.
CREATE FUNCTION current_tenant() RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN NULLIF(current_setting('app.tenant', true), '');

-- Two walls for tenants: policy first, row-level security second. Called once for each
-- table that holds tenants' rows, by the migration that creates it.
CREATE FUNCTION wall_off(name regclass) RETURNS void
    LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY system ON %s TO {system} USING (true) WITH CHECK (true)', name);
    EXECUTE format(
        'CREATE POLICY tenant ON %s TO {app} '
        'USING (tenant_id = current_tenant()) WITH CHECK (tenant_id = current_tenant())', name);
END $$;
REVOKE EXECUTE ON FUNCTION wall_off(regclass) FROM PUBLIC;

GRANT USAGE ON SCHEMA public TO {app}, {system};
GRANT SELECT, INSERT, UPDATE, DELETE
    ON feed_heads, feed_entries, feed_cursors, feed_rejections, idempotency_keys TO {system};
GRANT SELECT, INSERT ON events, audit_entries TO {system};
GRANT SELECT, UPDATE ON audit_head TO {system};
GRANT SELECT, INSERT, UPDATE ON idempotency_keys TO {app};
GRANT SELECT ON events, audit_entries TO {app};
SELECT wall_off('events');
SELECT wall_off('audit_entries');
SELECT wall_off('idempotency_keys');

-- An entry as text: what its hash covers, and what is exported.
CREATE FUNCTION audit_text(
    seq bigint, tenant_id text, actor text, action text, subject text, detail jsonb, reason text,
    correlation_id text, at timestamptz) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN jsonb_build_array(
        seq, tenant_id, actor, action, subject, detail, reason, correlation_id,
        (extract(epoch FROM at) * 1000000)::bigint)::text;

CREATE FUNCTION audit_hash(
    previous bytea, seq bigint, tenant_id text, actor text, action text, subject text,
    detail jsonb, reason text, correlation_id text, at timestamptz) RETURNS bytea
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN sha256(previous || convert_to(audit_text(
        seq, tenant_id, actor, action, subject, detail, reason, correlation_id, at), 'UTF8'));

-- What a transaction appends, written at its very end and always in this order: audit,
-- events, feeds by name. Each log is numbered under a row lock that is held until commit,
-- so sequence order is commit order; and since all take the locks in one order, no two
-- transactions can wait for each other. It runs as the system role: a tenant's own
-- transaction may append, but cannot read or change what others appended.
CREATE FUNCTION append_outgoing(
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
        DELETE FROM feed_entries WHERE feed = item.feed AND key IN (
            SELECT n.key FROM unnest(feeds, keys) AS n (feed, key) WHERE n.feed = item.feed);
        INSERT INTO feed_entries (feed, seq, key, body, created_at)
            SELECT item.feed, head.before + row_number() OVER (ORDER BY n.ord), n.key, n.body, now_at
            FROM unnest(feeds, keys, bodies) WITH ORDINALITY AS n (feed, key, body, ord)
            WHERE n.feed = item.feed;
        touched := concat_ws(',', touched, item.feed);
    END LOOP;

    -- NOTIFY takes a lock of its own at commit: at most one a transaction.
    IF touched IS NOT NULL THEN
        PERFORM pg_notify('penstock', CASE WHEN length(touched) < 7000 THEN touched ELSE '*' END);
    END IF;
END $$;

-- For a transaction of the system that appends more than once: every lock of append_outgoing,
-- in its order.
CREATE FUNCTION hold_outgoing() RETURNS void
    LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM FROM audit_head FOR UPDATE;
    PERFORM FROM feed_heads WHERE feed = 'events' FOR UPDATE;
    PERFORM FROM feed_heads WHERE feed <> 'events' ORDER BY feed FOR UPDATE;
END $$;
REVOKE EXECUTE ON FUNCTION hold_outgoing FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hold_outgoing TO {system};

GRANT CREATE ON SCHEMA public TO {system};  -- an owner must have it while it becomes one
ALTER FUNCTION append_outgoing OWNER TO {system};
REVOKE CREATE ON SCHEMA public FROM {system};
REVOKE EXECUTE ON FUNCTION append_outgoing FROM PUBLIC;
GRANT EXECUTE ON FUNCTION append_outgoing TO {app}, {system};

-- Invariants: views that are empty when all is well.
CREATE VIEW invariant_audit_chain WITH (security_invoker = true) AS
    SELECT seq FROM (
        SELECT a.*, lag(hash, 1, '\x00') OVER (ORDER BY seq) AS previous,
            row_number() OVER (ORDER BY seq) AS place
        FROM audit_entries a) AS entry
    WHERE place <> seq OR hash <> audit_hash(previous, seq, tenant_id, actor, action, subject,
        detail, reason, correlation_id, at)
    UNION ALL
    SELECT h.seq FROM audit_head h
    WHERE h.seq <> (SELECT count(*) FROM audit_entries)
        OR h.seq > 0 AND NOT EXISTS (
            SELECT FROM audit_entries a WHERE a.seq = h.seq AND a.hash = h.hash);

CREATE VIEW invariant_feed_rejections WITH (security_invoker = true) AS
    SELECT source, seq, reason FROM feed_rejections;
GRANT SELECT ON invariant_audit_chain, invariant_feed_rejections TO {system};
