"""Tests of the integers underneath."""
