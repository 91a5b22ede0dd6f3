"""The command line: ``main`` holds the commands and turns errors into a line and an exit status.

``commands`` declares them, with ``parameters`` (types of values), ``known`` (names from registries) and
``options`` (those of each command). The work: ``serving`` starts the app; ``basic`` holds inspect, contract,
place, simulate and measure, and gives the others their scenario; these have a module each; ``lists`` holds
the registries.
"""
