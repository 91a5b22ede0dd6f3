"""The browser app; the only room that imports Streamlit."""
