"""Ways to write programs: functions of arrays made into funcs, found out about and tested; SciPy's filters."""
