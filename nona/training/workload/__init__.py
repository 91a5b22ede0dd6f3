"""What comes in: traces of jobs, generated jobs, tables of throughputs and prices."""
