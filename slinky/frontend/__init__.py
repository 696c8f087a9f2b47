"""Ways to write programs without describing funcs: functions of arrays with halos, and SciPy's filters."""
