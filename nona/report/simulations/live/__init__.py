"""What live charts show: series of numbers, and sentences about them."""
