-- Reading the audit log: by whom, by tenant, and whether it is whole.

CREATE INDEX audit_entries_tenant ON audit_entries (tenant_id, seq);
CREATE INDEX audit_entries_actor ON audit_entries (actor, seq);
-- Times are nearly in the order of numbers, so a summary of each range of pages is enough.
CREATE INDEX audit_entries_at ON audit_entries USING brin (at);

-- One entry on one line, with its hash. The text after "entry": is exactly what the hash covers,
-- so that anyone who has the lines can check them without this database.
CREATE FUNCTION audit_line(a audit_entries) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN format('{"seq": %s, "hash": "%s", "entry": %s}', a.seq, encode(a.hash, 'hex'),
        audit_text(a.seq, a.tenant_id, a.actor, a.action, a.subject, a.detail, a.reason,
            a.correlation_id, a.at));

-- What is wrong with the entries in (after_seq, until_seq], each with its number. The range that
-- reaches the head of the log says, too, whether the log ends where it should.
CREATE FUNCTION audit_faults(after_seq bigint, until_seq bigint)
    RETURNS TABLE (at_seq bigint, fault text)
    LANGUAGE sql STABLE AS $$
    WITH entry AS (
        SELECT a.*, lag(a.seq, 1, after_seq) OVER in_order AS before,
            lag(a.hash, 1, '\x00') OVER in_order AS previous
        FROM audit_entries a WHERE a.seq BETWEEN after_seq AND until_seq
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
    SELECT a.seq, 'no entry has such a number' FROM audit_entries a
    WHERE a.seq < 1 AND after_seq = 0
    UNION ALL
    SELECT a.seq, format('it is beyond the head of the log, %s', h.seq)
    FROM audit_head h JOIN audit_entries a ON a.seq > h.seq WHERE until_seq >= h.seq
    UNION ALL
    SELECT h.seq, 'the log does not end with the entry that its head names'
    FROM audit_head h
    WHERE h.seq BETWEEN 1 AND until_seq AND NOT EXISTS (
        SELECT FROM audit_entries a WHERE a.seq = h.seq AND a.hash = h.hash)
    ORDER BY 1
$$;
