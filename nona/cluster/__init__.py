"""Servers, GPUs, slices, links, prices."""
