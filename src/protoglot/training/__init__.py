"""Multilingual training: budget, schedule, checkpoints and the loop itself."""
