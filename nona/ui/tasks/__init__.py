"""The worker: its process, and what it does for each kind of job. No Streamlit here."""
