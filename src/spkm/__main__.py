"""``python -m spkm`` is the command ``spkm``."""

import sys

from spkm.cli import main

if __name__ == "__main__":
    sys.exit(main())
