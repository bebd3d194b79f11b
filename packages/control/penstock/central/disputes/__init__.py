"""Times that sites reported and that cannot be, until an operator settles them."""
