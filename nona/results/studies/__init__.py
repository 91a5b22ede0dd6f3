"""Results of the studies that ship with the program, as their files hold them."""
