"""Limits on files that are read from outside.

They are ours: far above any network, trace or table in use, low enough that a hostile or damaged file
cannot exhaust the machine that reads it. What a model graph may hold is in :mod:`nona.graph.limits`, what a
scenario may hold in :mod:`nona.scenario.limits`.
"""

from __future__ import annotations

MOST_FILE_BYTES = 64_000_000
"""A model, a trace, a table."""

MOST_BUNDLE_BYTES = 128_000_000
"""A scenario's bundle, packed and unpacked."""

READ_CPU_S = 10
READ_S = 30.0
READ_MEMORY_BYTES = 2**30
"""What reading one file may take, whatever its format: processor time, time at all, address space.

On a machine with a free core the first is what ends it. Where many work at a time, a file is not refused
because of the others.
"""

MOST_COLUMNS = 600_000
"""Cells in a row of CSV; a row of the Azure Functions trace has 1,444."""

MOST_MINUTES = 366 * 24 * 60
"""Minutes of a trace of counts: a leap year."""

MOST_ARRIVALS = 5_000_000
"""Arrivals of a trace."""

MOST_TRACE_S = 1e12
"""Distance of a time in a trace from 1970, in seconds: 30,000 years."""

MOST_RECEIVED_FILES = 20
MOST_RECEIVED_BYTES = 128_000_000
"""Files of one session that wait in the server's memory until a page takes them."""

MOST_SESSION_FILES = 100
MOST_SESSION_BYTES = 256_000_000
"""Files that a session of the app holds, and their bytes together."""
