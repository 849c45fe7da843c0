"""Results for people: tables and progress in a terminal, tables for papers, figures, the HTML page."""
