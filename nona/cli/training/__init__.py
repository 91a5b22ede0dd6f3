"""What the commands ``nona training …`` do, one module each."""
