"""What to buy: targets, offers, prices, the sequential verdict, the search for the least count, growth.

Nothing here simulates. :mod:`nona.study.planning` brings scenarios and simulations.
"""
