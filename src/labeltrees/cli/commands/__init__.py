"""The commands, one module each; a module and its function have the name of the command."""
