"""The Training page: long jobs on GPUs of several types, and the policies that share them."""
