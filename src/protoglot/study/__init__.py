"""Studies: many languages, methods and samples, planned as data and run unit by unit."""
