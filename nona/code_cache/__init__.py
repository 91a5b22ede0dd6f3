"""Machine code on disk: nothing damaged is loaded, nothing that another could have written."""
