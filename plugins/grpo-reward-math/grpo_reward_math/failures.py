"""The two ways in which a text cannot be read or compared."""

from __future__ import annotations


class Unreadable(ValueError):
    """No answer can be read from a text; `str()` is one line for a person."""


class LimitHit(Exception):
    """A guard refused a text or a value before it was computed; `str()` says which limit."""
