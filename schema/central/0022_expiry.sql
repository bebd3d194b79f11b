-- What ran out is deleted by the system (central/sweeping.py), and by nobody else. Whatever it asks
-- for, these policies let it delete only what can do nothing more.
GRANT DELETE ON device_codes, authorization_codes, refresh_tokens, revoked_tokens, sessions,
    invitations TO {system};

CREATE POLICY ran_out ON device_codes AS RESTRICTIVE FOR DELETE TO {system}
    USING (expires_at < now());
CREATE POLICY ran_out ON revoked_tokens AS RESTRICTIVE FOR DELETE TO {system}
    USING (expires_at < now());
CREATE POLICY ran_out ON invitations AS RESTRICTIVE FOR DELETE TO {system}
    USING (least(expires_at, accepted_at) < now());
CREATE POLICY ran_out ON sessions AS RESTRICTIVE FOR DELETE TO {system}
    USING (least(expires_at, ended_at) < now());
-- A spent one that comes again ends its session, for as long as there is one to end.
CREATE POLICY ran_out ON refresh_tokens AS RESTRICTIVE FOR DELETE TO {system}
    USING (NOT EXISTS (SELECT FROM sessions s
        WHERE s.id = session_id AND s.ended_at IS NULL AND s.expires_at >= now()));
CREATE POLICY ran_out ON authorization_codes AS RESTRICTIVE FOR DELETE TO {system}
    USING (authorization_codes.expires_at < now() AND NOT EXISTS (SELECT FROM sessions s
        WHERE s.id = session_id AND s.ended_at IS NULL AND s.expires_at >= now()));

-- To find what ran out, and what refers to a session that goes.
CREATE INDEX device_codes_expiry ON device_codes (expires_at);
CREATE INDEX device_codes_session ON device_codes (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX authorization_codes_expiry ON authorization_codes (expires_at);
CREATE INDEX authorization_codes_session ON authorization_codes (session_id)
    WHERE session_id IS NOT NULL;
CREATE INDEX authorization_codes_browser ON authorization_codes (browser_id);
CREATE INDEX refresh_tokens_session ON refresh_tokens (session_id);
CREATE INDEX revoked_tokens_expiry ON revoked_tokens (expires_at);
CREATE INDEX sessions_over ON sessions (least(expires_at, ended_at));
CREATE INDEX sessions_children ON sessions (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX invitations_over ON invitations (least(expires_at, accepted_at));
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
