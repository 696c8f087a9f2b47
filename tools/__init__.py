"""Tools of those who work on slinky. They are no part of the package."""
