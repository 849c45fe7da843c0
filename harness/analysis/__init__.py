"""From stored runs to answers: which runs can be compared, what the tests say, which tables and figures show it."""
