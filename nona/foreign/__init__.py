"""What comes from outside: how much of it is taken (``limits``), and how files and CSV are read."""
