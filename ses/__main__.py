"""`python -m ses`."""

from ses.terminal.cli import main

if __name__ == "__main__":
    main()
