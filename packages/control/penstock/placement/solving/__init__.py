"""Which nodes a request may use, which one it gets, and whether it can ever fit."""
