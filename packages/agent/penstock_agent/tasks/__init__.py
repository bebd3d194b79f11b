"""The kinds of task: a module each, and a row each in `kinds.KINDS`."""
