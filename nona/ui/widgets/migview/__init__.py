"""The MIG layout editor: one board with its instances, edited by mouse or keyboard."""
