"""What `bench/claims.py` measures, one file a figure."""
