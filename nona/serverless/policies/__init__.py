"""The configuration policies, by name: ESG and what it is compared with."""
