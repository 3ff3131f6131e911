"""Runs programs that nobody has read, and keeps what they do inside.

Nothing is imported here: the locked process imports single modules of this folder, and nothing else
of the package (`zygote.py`).
"""
