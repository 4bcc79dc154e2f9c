"""Gaussians over the weights of a language model."""
