"""The command `poinsot`, also as `python -m poinsot`."""

import sys


def main() -> int:
    """Run the command; Ctrl-C during the import also gives one line."""
    try:
        from .cli import main

        return main()
    except KeyboardInterrupt:
        sys.stderr.write("poinsot: interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
