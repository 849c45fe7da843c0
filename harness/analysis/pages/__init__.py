"""`harness report`: one HTML file that opens from disk."""
