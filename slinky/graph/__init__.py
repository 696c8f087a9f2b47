"""What a user writes: variables, buffers and funcs; bounds inference; lowering to a program."""
