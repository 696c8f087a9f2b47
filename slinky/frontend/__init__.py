"""Ways to write programs: functions of arrays traced, made into funcs, found out about and tested; SciPy's filters.

A function is traced with lazy arrays (`arrays`): `calling`, `functions` and `tables` say what NumPy's functions do to
them; `nodes`, `views`, `operations` and `assembling` are the graph that comes of it; `lowering` makes a pipeline of
that; `tracing`, `reading`, `kept_traces`, `choosing` and `jitting` decide when.
"""
