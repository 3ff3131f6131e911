"""Running rewards: the call of one reward, the checks on what it returns, TRL-style calls."""
