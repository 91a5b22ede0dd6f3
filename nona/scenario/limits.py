"""How large a scenario may be, in one place: what exceeds a limit is refused in one line.

Reading a text takes about 10 µs per value, and each value takes about 200 bytes of memory; with these
limits any text is read or refused within seconds.
"""

from __future__ import annotations

MAX_BYTES = 4_000_000
"""Bytes of a scenario's text."""
MAX_DEPTH = 40
"""Lists and mappings inside one another."""
MAX_VALUES = 200_000
"""Keys, values, lists and mappings together."""
MAX_INTEGER = 10**30
"""The largest magnitude of a whole number."""
MAX_INTEGER_TEXT = 128
"""Characters of a whole number in a text, so that binary digits of 64 bits fit."""
MAX_PROBLEMS = 20
"""Problems that are listed; of the others the number is said."""
