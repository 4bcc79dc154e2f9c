"""Models that learn as they read: evidence, scorer, reader."""
