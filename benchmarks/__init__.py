"""Side by side with the peers, in one process, on the same data: `make bench` writes docs/performance.md."""
