"""The parts of `slinky.ir.serialisation`: how expressions, values and records are written as JSON, and read again."""
