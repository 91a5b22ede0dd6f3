"""Saved items: scenarios with their answers, which a person chose to keep, in an SQLite data base.

``schema`` holds the tables and their migrations, ``database`` opens the file, ``store`` has the operations,
``kinds`` what can be saved, ``comparing`` puts items side by side, ``transfer`` writes them as one file and
reads such a file.
"""
