"""The sweep on the Simulation page: its controls, its charts, what they say."""
