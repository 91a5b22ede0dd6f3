"""The compiled engine: the plain engine's loop as machine code, with equal records.

The functions of the loop (:mod:`.loop`, :mod:`.controller`, :mod:`.execution`, :mod:`.queues`,
:mod:`.cluster`, :mod:`.containers`, :mod:`.heap`) are written in the part of Python that Numba understands,
and take the :class:`~nona.serverless.engine.compiled.layout.State`, which is arrays.

:mod:`.allocate` makes it; :mod:`.machine` makes machine code, kept on disk; :mod:`.engine` runs the loop, and
:mod:`.answers` is what it asks while it runs: planners stay plain Python. :mod:`.suits` says which systems it
can simulate.
"""
