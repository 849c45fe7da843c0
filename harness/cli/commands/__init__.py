"""One file per command: `add` says its options, `call` does it. Nothing heavy is imported before it is called."""
