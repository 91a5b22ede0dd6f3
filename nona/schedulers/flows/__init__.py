"""Schedulers that give each flow, i.e. query class, a set of executors, round by round (kind ``allocate``).

They were made for training clusters. A policy of :mod:`nona.allocation` says what each flow should have
(``gavel``, ``themis``, ``tiresias``, ``gandiva``, ``optimus``, ``pollux``); the rest is the same for all of
them: :mod:`.question` is what it is asked, :mod:`.claims` its answer, :mod:`.holdings` makes sets of it, and
:mod:`.allotter` joins them.
"""
