"""The site plane: realizes what central intends, through workflows and node agents."""
