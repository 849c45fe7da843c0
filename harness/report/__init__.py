"""What people see: tables, sentences, progress."""
