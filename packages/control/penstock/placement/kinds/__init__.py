"""What makes nodes alike: how their GPUs lie, the states they are in, their cohorts."""
