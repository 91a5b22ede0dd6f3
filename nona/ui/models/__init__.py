"""The models as pages show them: loaded once for all sessions, laid out, drawn."""
