"""The configuration policies, by name: ESG and the policies compared with it."""
