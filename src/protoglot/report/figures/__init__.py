"""Figures: each a drawing, words for those who cannot see it, and a table of the numbers it was drawn from."""
