"""Verdicts: what a program printed or returned, against what tests expect."""
