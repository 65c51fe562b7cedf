"""Models on disk and in memory: the log, snapshots, recovery, and the thread that learns."""
