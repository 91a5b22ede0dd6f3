"""What a simulation found, in sentences: the headline, all findings, advice, remedies for overload."""
