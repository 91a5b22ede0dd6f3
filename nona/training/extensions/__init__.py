"""The switches of a training cluster as hooks: beliefs, charged moves, disturbed stretches, regions."""
