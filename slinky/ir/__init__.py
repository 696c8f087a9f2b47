"""Programs: statements, regions, printer, verifier. Knows nothing of graphs, cursors or how programs run."""
