"""Scoring the rows of a file: read in chunks, scored in whole groups, written whole or not at all.

`job` runs it all. A file is read twice: `check` looks at every row before the first one is
scored, so that a broken row costs seconds and not the hours of the rows before it.
"""
