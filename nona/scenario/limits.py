"""How large a scenario may be, in one place: what exceeds a limit is refused in one line.

Measured on two shared cores with YAML of 50,000 numbers and of 75,000 nodes in block style: 19 to 28 µs
and at most 520 bytes of memory per value while it is read. A text at the limits takes about 6 s.
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
