-- Whose key it is, asked together with other things.
CREATE TYPE key_holder AS (
    id text, tenant_id text, user_id text, role text, scopes text[], hash bytea,
    expires_at timestamptz, grants text);
