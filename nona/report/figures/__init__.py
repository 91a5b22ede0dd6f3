"""Figures as pure functions: common parts, scheduler styles, one module for each kind of chart."""
