# SPDX-License-Identifier: MIT OR Apache-2.0
"""Starts the program `core` and reads what it measures. An option is a keyword: `held_out=0.1` is `--held-out 0.1`."""

import json as _json
import os
import shutil
import subprocess
import sysconfig



def _program():
    """Where pip put it: beside Python, in the user's own folder, or somewhere on the path."""
    name = "core.exe" if os.name == "nt" else "core"
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))]
    found = [path for path in (os.path.join(folder, name) for folder in folders) if os.path.exists(path)]
    return found[0] if found else shutil.which(name) or os.path.join(folders[0], name)


PROGRAM = _program()


def run(*command, **options):
    """Runs `core COMMAND --OPTION VALUE …`. True is a switch, a list a list with commas; None and False are left out."""
    arguments = [PROGRAM, *map(str, command)]
    for name, value in options.items():
        if value is None or value is False:
            continue
        arguments.append("--" + name.rstrip("_").replace("_", "-"))
        if value is not True:
            arguments.append(",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value))
    subprocess.run(arguments, check=True)


def table(*command, json, **options):
    """Runs a command that writes results to the file `json`, and reads them: a pandas DataFrame, or a list without pandas."""
    run(*command, json=json, **options)
    with open(json, encoding="utf-8") as file:
        rows = _json.load(file)
    rows = rows if isinstance(rows, list) else [rows]
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.json_normalize(rows)
