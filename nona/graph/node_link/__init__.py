"""Node-link JSON: the loss-free form of a model graph; every other reader makes one."""
