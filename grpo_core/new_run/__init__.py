"""What `grpo new run` writes: looks at data, model and rewards, and makes a commented config."""
