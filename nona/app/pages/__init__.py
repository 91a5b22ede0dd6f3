"""What pages draw, a folder for each room."""
