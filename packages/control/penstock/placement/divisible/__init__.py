"""Divisible nodes, which serve shares: the states they are in, and what a share costs there.

Only benchmarks and tests have such nodes: no plane divides one, and the API offers no shares.
"""
