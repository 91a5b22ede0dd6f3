"""What a session holds, keeps and opens."""
