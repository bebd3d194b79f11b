"""Where what hosts hold differs from what their nodes should hold."""
