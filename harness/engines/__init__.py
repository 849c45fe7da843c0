"""Where replicas run: one file an engine. Nothing else in the package knows which it is."""
