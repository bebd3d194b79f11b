-- The key of the authority with which a site signs its nodes' certificates. It is set when the
-- site joins: a renewal is for the same key, whoever asks.
ALTER TABLE sites ADD COLUMN ca_public_key bytea;
