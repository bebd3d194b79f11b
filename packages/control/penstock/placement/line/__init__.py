"""Those who wait for room: whose turn it is, what is kept for whom, and until when."""
