"""`python -m grpo_core.cli`: the command `grpo`, for launchers of modules such as torchrun."""

from __future__ import annotations

from grpo_core.cli import main

if __name__ == "__main__":
    main()
