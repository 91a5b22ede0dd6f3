"""The commands as people type them: names, options, help. What they do is in the modules beside this package.

Declarations import no module that works; each command imports its own when it runs. So help and shell
completion answer at once.
"""
