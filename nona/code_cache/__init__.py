"""Machine code on disk: nothing damaged is loaded, and nothing that another user could have written.

``folders`` says where it lies and whom to trust, ``sealed`` reads and writes a file with its checksum,
``checked`` is Numba's cache on top of both. Only the last imports Numba.
"""
