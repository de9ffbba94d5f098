"""What the command line says of files, in the terms of the protocol.

Columns of the JSON report count code points; `Unit` turns them into what a client counts.
"""

import json
import os
import pathlib
import subprocess
from typing import NamedTuple

KEYLINT = os.environ.get("KEYLINT", "keylint")
SEVERITIES = {"error": 1, "warning": 2, "note": 3}


class Reported(NamedTuple):
    """A finding as an editor shows it; rows and columns count from 0."""

    start: tuple[int, int]
    end: tuple[int, int]
    code: str
    severity: int
    message: str


def length(text: str, unit: str) -> int:
    """The length of a text in what a client counts: `utf-8`, `utf-16` or `utf-32`."""
    if unit == "utf-32":
        return len(text)
    return len(text.encode(unit + ("-le" if unit == "utf-16" else ""))) // (2 if unit == "utf-16" else 1)


def run(folder: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess:
    """Runs `keylint check` in a folder; findings are no failure."""
    command = [KEYLINT, "check", "--no-cache", "--no-progress", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, 1), done.stderr
    return done


def cells_of(path: pathlib.Path) -> list[str]:
    """The texts of a notebook's cells."""
    return ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]


def report(folder: pathlib.Path, *arguments: str) -> list[dict]:
    """The JSON report."""
    return json.loads(run(folder, "--output-format", "json", *arguments).stdout)


def reported(folder: pathlib.Path, unit: str, *arguments: str) -> dict[tuple[str, int | None], list[Reported]]:
    """The findings of files, by file name and number of the cell."""
    all_reported: dict[tuple[str, int | None], list[Reported]] = {}
    for finding in report(folder, *arguments):
        path, cell = folder / finding["filename"], finding["cell"]
        text = path.read_bytes().decode() if cell is None else cells_of(path)[cell - 1]
        lines = text.replace("\r\n", "\n").split("\n")

        def spot(place):
            row, column = place["row"] - 1, place["column"] - 1
            return (row, length(lines[row][:column], unit))

        all_reported.setdefault((finding["filename"], cell), []).append(
            Reported(
                spot(finding["location"]),
                spot(finding["end_location"]),
                finding["code"],
                SEVERITIES[finding["level"]],
                finding["message"],
            )
        )
    return {place: sorted(findings) for place, findings in all_reported.items()}


def fixed(folder: pathlib.Path, name: str, *arguments: str) -> bytes:
    """What a file is after `keylint check --fix`; the file itself is written."""
    run(folder, "--fix", *arguments, name)
    return (folder / name).read_bytes()
