"""Back ends that compile: arithmetic that slinky understands becomes loops in C."""
