"""The commands, one file per noun. Each holds an `app` that main.py finds by name."""
