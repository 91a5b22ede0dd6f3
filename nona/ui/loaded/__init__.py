"""The models as pages show them: read, costed, contracted and laid out once, shared by all sessions."""
