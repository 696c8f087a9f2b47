"""From a program to its plan tree. `generator` puts it together; each other module decides one part of it."""
