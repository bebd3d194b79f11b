-- The fleet's log is read as text.
DROP TYPE fleet_change;
