"""What both control planes stand on. Knows no domain noun."""
