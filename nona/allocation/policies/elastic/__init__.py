"""Policies that decide how many workers each job has: whole workers of each type, handed out one by one."""
