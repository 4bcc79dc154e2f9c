"""``python -m protoglot`` is the command ``protoglot``."""

from protoglot.cli.main import main

if __name__ == "__main__":
    main()
