"""What is wrong with a node that does not keep leases from being placed on it."""
