"""Drivers that come with the control planes. Only their entry points name them."""
