"""Learning a language by reading its sentences, without changing a weight."""
