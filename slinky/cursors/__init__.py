"""Pointing into programs: places, patterns, forwarding, and the tree edits that every rewrite is made of."""
