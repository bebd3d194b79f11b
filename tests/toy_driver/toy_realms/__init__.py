"""Realms in memory, for as long as whoever opened them stays."""
