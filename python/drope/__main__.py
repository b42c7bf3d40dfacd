# SPDX-License-Identifier: MIT OR Apache-2.0
"""`python -m drope …` is `core …`."""

import subprocess
import sys

from . import PROGRAM

sys.exit(subprocess.call([PROGRAM, *sys.argv[1:]]))
