"""The character language model: log p(text | weights, typology), in one place only."""
