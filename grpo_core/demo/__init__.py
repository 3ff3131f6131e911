"""Data of `grpo demo`: a tiny checkpoint, a task of small sums, one reward file and the run's config."""
