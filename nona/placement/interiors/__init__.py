"""Large interiors: configurations worth their price, and bounds on those not listed."""
