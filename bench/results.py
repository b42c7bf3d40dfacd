"""What the measurements share: their arguments, the processor, programs that print JSON, and results files."""

import argparse
import json
import pathlib
import platform
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs/results/real-models"
# Fields of a row that have a number a round.
SPEEDS = ("prompt", "generation", "speeds", "train", "prefill", "gigaflops")


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
    earlier = json.loads(path.read_text()) if path.exists() else []
    at = lambda rows, row: [other for other in rows if of(other) == of(row)]
    # Rows of one place are of one run; a program that failed has no rounds.
    refused = [row for row in rows if _rounds(at(earlier, row)) > _rounds(at(rows, row))]
    for row in refused:
        print(f"not written, since {path} has more rounds of {of(row)}: {json.dumps(row)}")
    rows = [row for row in rows if row not in refused]
    _write(path, [row for row in earlier if of(row) not in map(of, rows)] + _noted(rows))


def write_rows(path, rows):
    """A results file of these rows."""
    _write(path, _noted(rows))


def _noted(rows):
    """The rows with the commit that was measured, and when that began: rows of one run have both in common."""
    return [row | {"commit": COMMIT, "began": BEGAN} for row in rows]


def _rounds(rows):
    """Most rounds of any of the rows."""
    of = lambda row: row.get("rounds") or max((len(row.get(speeds) or []) for speeds in SPEEDS), default=0)
    return max(map(of, rows), default=0)


def _commit():
    """The commit of the code; what a measurement writes changes documents alone."""
    git = lambda *words: subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    is_changed = git("diff", "--quiet", "HEAD", "--", ".", ":!docs").returncode != 0
    return git("describe", "--always").stdout.strip() + ("-dirty" if is_changed else "")


def _write(path, rows):
    """A row a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    part.replace(path)


COMMIT, BEGAN = _commit(), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def processor():
    """Name and family of this processor, and the widest vectors or tiles that it has: `AMD EPYC, family 23, avx2`. All of Intel's are of
    family 6, so that their model is said too."""
    found = dict(line.split(":", 1) for line in reversed(pathlib.Path("/proc/cpuinfo").read_text().splitlines()) if ":" in line)
    found = {name.strip(): value.strip() for name, value in found.items()}
    if "cpu family" not in found:
        return f"{platform.machine()}, {found.get('CPU part', 'unknown part')}"
    model = f" model {found['model']}" if found["cpu family"] == "6" else ""
    widest = next((name for name in ("amx_bf16", "avx512f", "avx2") if name in found["flags"].split()), "sse2")
    return f"{found['model name']}, family {found['cpu family']}{model}, {widest}"


def measured(command):
    """What a program prints, as lines of JSON, and its peak memory, which GNU time tells, in KiB, apart from that of this process."""
    done = subprocess.run(["/usr/bin/time", "-f", "%M", *map(str, command)], check=True, capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return lines, 1024 * int(done.stderr.split()[-1])
