"""Where a share of a divisible node goes. Only benchmarks and tests ask for shares yet."""
