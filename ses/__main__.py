"""The command `ses`, also as `python -m ses`."""

import sys


def main() -> None:
    """Run the command line; an error names a package of others that is found in place of one of ses."""
    try:
        from ses.terminal.cli import main as run
    except ImportError:
        from ses.terminal.foreign import foreign_packages

        if not (foreign := list(foreign_packages())):
            raise
        sys.exit("\n".join(f"Error: {sentence}" for sentence in foreign))
    run()


if __name__ == "__main__":
    main()
