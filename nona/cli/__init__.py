"""The command line: ``main`` parses the arguments and calls one module for each group of commands.

``basic`` holds app, inspect, contract, place, simulate and measure, and gives the others their scenario.
Those have a module each; ``lists`` holds the registries, ``values`` reads options that several have.
"""
