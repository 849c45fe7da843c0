"""Stored runs beside what people said of them."""
