"""`python -m harness`: the same program as the console script."""

from harness.cli.main import main

if __name__ == "__main__":
    main()
