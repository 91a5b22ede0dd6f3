"""What a plan is asked: demand and targets, what is on offer, prices."""
