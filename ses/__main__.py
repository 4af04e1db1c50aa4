"""`python -m ses`."""

from ses.cli import main

if __name__ == "__main__":
    main()
