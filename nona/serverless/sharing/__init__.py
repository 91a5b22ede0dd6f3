"""The system's invokers under its way of sharing: what they can hold, and how long batches take."""
