"""What the commands of the command line do; :mod:`nona.cli` reads their options.

``basic`` holds app, inspect, contract, place, simulate and measure, and hands the others their scenario.
Those have a module each; ``lists`` holds the registries, ``values`` reads options that several have.
"""
