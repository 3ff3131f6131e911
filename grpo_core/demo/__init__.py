"""Data of `grpo demo`: a tiny checkpoint, a task of small sums, a reward in a file, a config."""
