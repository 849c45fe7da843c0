"""What outlives a process: the run folder, the output journal, the shared cache of outputs."""
