"""Scheduling: primitives grouped by what they change, the decorator that makes them, and what makes them legal."""
