"""A simulated host: real protocol, tasks, fences and proofs, without the hardware."""
