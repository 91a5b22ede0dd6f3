"""Reports on sweeps: values, edges of stability, findings."""
