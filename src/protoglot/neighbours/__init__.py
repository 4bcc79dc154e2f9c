"""What the n-grams of languages that a prior has read say of a new one that is like them."""
