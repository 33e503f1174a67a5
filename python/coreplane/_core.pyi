"""The compiled core."""

__version__: str

class ConfigError(ValueError):
    """Bad input; the message is the command line's."""

def cli_main(args: list[str]) -> int:
    """Runs the command line; gives its exit code."""

def call(args: list[str]) -> str:
    """Runs a command with its arguments and gives its JSON. Raises ConfigError on bad input."""
