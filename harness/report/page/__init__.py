"""One HTML file that shows a study: a view like the tables and the figures, that a browser opens from disk."""
