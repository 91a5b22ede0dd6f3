"""The formula: mean JCT of any placement from mean waits that agree with its own load."""
