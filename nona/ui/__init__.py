"""The browser app's own code: the only package here that imports Streamlit."""
