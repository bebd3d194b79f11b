-- The client through which a person made a key: it is good no longer than that client is.
ALTER TABLE api_keys
    ADD COLUMN client_id text COLLATE "C",
    ADD CHECK (client_id IS NULL OR user_id IS NOT NULL),
    ADD FOREIGN KEY (tenant_id, client_id) REFERENCES realm_clients (tenant_id, id);
CREATE INDEX api_keys_user ON api_keys (user_id) WHERE user_id IS NOT NULL AND revoked_at IS NULL;
CREATE INDEX api_keys_client ON api_keys (tenant_id, client_id)
    WHERE client_id IS NOT NULL AND revoked_at IS NULL;

-- Who was shut out has no key that would be good again on the day they are let in.
CREATE VIEW invariant_key_of_a_disabled_user WITH (security_invoker = true) AS
    SELECT k.id FROM api_keys k JOIN users u ON u.id = k.user_id
    WHERE k.revoked_at IS NULL AND u.disabled_at IS NOT NULL;
GRANT SELECT ON invariant_key_of_a_disabled_user TO {system};
