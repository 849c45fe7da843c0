"""Other tools' logs, one file a format: `harness import` reads them as `Log`s, `harness export` writes runs as such."""
