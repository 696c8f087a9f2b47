"""The Python source of a plan. `generator` puts it together; each other module knows one part of it."""
