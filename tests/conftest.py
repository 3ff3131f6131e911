"""Fixtures of all tests: a folder on the path in which distributions are installed for one test."""

from __future__ import annotations

from grpo_core.testing import site

__all__ = ["site"]
