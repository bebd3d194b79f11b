"""Where the fleet's nodes are found: by family, cohort, state and fabric leaf."""
