"""The API by noun: each file is the calls of a few nouns that belong together."""
