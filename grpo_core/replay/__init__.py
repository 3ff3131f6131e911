"""A recorded run under other rewards, options or weights: what would have been different."""
