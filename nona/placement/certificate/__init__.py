"""The certificate: bounds on every placement, configurations that are not listed included."""
