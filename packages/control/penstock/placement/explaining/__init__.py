"""What fits now, why something does not, and what would."""
