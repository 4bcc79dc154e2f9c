"""The command line: arguments, messages and exit codes. One file per command group."""
