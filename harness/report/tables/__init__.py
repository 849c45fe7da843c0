"""Results tables for papers: what stands in which cell, and the formats it is written in."""
