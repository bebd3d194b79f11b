"""Penstock's SDK (`penstock_client.api.Client`) and its command line."""

VERSION = "0.1.0"
