"""Policies that put jobs on GPUs one after another: in order of arrival, of time left, by assignment."""
