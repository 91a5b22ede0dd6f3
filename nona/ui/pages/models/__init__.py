"""The Models and Contraction pages: picking and reading a model, its tables, what splitting could gain."""
