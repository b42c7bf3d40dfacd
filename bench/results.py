"""What the measurements share: their arguments, the processor, programs that print JSON, and results files."""

import argparse
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs/results/real-models"


def rounds_and_threads(*paths, **others):
    """The arguments of a measurement in rounds, on numbers of threads, and others: numbers, or lists of numbers or words, as their defaults are."""
    parser = argparse.ArgumentParser()
    for path in paths:
        parser.add_argument(path)
    parser.add_argument("--rounds", type=int, default=5)
    numbers = lambda text: [int(word) for word in text.split(",")]
    parser.add_argument("--threads", type=numbers, default=[1, 2])
    for name, default in others.items():
        if isinstance(default, int):
            parser.add_argument(f"--{name}", type=int, default=default)
            continue
        is_words = isinstance(default[0], str)
        parser.add_argument(f"--{name}", type=(lambda text: text.split(",")) if is_words else numbers, default=default)
    return parser.parse_args()


def add_rows(path, rows, *place):
    """Adds rows to a results file in place of those that have the same values of these fields, but not of rows of more rounds."""
    of = lambda row: [row.get(field) for field in place]
    rounds = lambda row: max((len(value) for value in row.values() if isinstance(value, list)), default=1)
    earlier = json.loads(path.read_text()) if path.exists() else []
    of_more = lambda row: any(of(known) == of(row) and rounds(known) > rounds(row) for known in earlier)
    for row in filter(of_more, rows):
        print(f"not written, since {path} has more rounds of {of(row)}: {json.dumps(row)}")
    rows = [row for row in rows if not of_more(row)]
    _write(path, [row for row in earlier if of(row) not in map(of, rows)] + _noted(rows))


def write_rows(path, rows):
    """A results file of these rows."""
    _write(path, _noted(rows))


def _noted(rows):
    """The rows with the commit that was measured, as `git describe` names it."""
    described = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [row | {"commit": described.stdout.strip()} for row in rows]


def _write(path, rows):
    """A row a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


def processor():
    """Name and family of this processor, and the widest vectors or tiles that it has: `AMD EPYC, family 23, avx2`."""
    found = dict(line.split(":", 1) for line in reversed(pathlib.Path("/proc/cpuinfo").read_text().splitlines()) if ":" in line)
    found = {name.strip(): value.strip() for name, value in found.items()}
    widest = next((name for name in ("amx_bf16", "avx512f", "avx2") if name in found["flags"].split()), "sse2")
    return f"{found['model name']}, family {found['cpu family']}, {widest}"


def measured(command):
    """What a program prints, as lines of JSON, and its peak memory, which GNU time tells, in KiB, apart from that of this process."""
    done = subprocess.run(["/usr/bin/time", "-f", "%M", *map(str, command)], check=True, capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return lines, 1024 * int(done.stderr.split()[-1])
