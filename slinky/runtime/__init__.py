"""Running programs: buffers and storage, the reference interpreter, statistics and hooks."""
