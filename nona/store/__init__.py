"""Saved items: scenarios with their answers, kept in an SQLite data base."""
