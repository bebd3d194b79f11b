-- A plane logs in as a role that owns nothing, and sees by itself whether it can serve this database.
GRANT SELECT ON schema_migrations TO {system};

-- Nobody but the owner makes tables; databases that began before PostgreSQL 15 let everybody.
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
