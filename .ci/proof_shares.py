#!/usr/bin/env python3
"""What is proven of keylint's findings on a corpus: shares of witnesses and fixes, fixed files that parse, and diffs to read.

    .ci/proof_shares.py CORPUS [--keylint target/release/keylint] [--sample 50] [--seed 2026] [--findings FOLDER] [--skip FILE]

CORPUS holds packages, a folder each. Every package is checked from its own folder with default settings but for `--isolated`, and once more
with notes. Then a copy of each is repaired with `--fix --unsafe-fixes`, and every file that changed has to parse. With `--sample` the diffs of
that many verified fixes of KEY1xx and KEY2xx are printed, drawn at random, each with a few lines around it. `--skip` leaves out those that an
earlier sample holds, which is the output of an earlier run; `--findings` reads the findings saved in a folder, and saves there what is not.
"""

import argparse
import ast
import collections
import difflib
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

COLLISIONS = ("KEY101", "KEY102", "KEY103", "KEY104", "KEY105", "KEY108")
REUSES = tuple(f"KEY{code}" for code in range(101, 112))
WHOLE = ("KEY301",)


def check(keylint, folder, *options):
    command = [keylint, "check", ".", "--isolated", "--no-cache", "--no-progress", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode not in (0, 1, 2):
        sys.exit(f"{folder}: keylint ended with {done.returncode}\n{done.stderr}")
    return done.stdout


def found_in(keylint, package, folder):
    """The findings of a package with notes, saved in a folder if there is one."""
    saved = folder / f"{package.name}.json" if folder else None
    if saved and saved.exists():
        return json.loads(saved.read_text() or "[]")
    text = check(keylint, package, "--output-format", "json", "--min-level", "note")
    if saved:
        folder.mkdir(parents=True, exist_ok=True)
        saved.write_text(text)
    return json.loads(text or "[]")


def shares(title, findings):
    print(f"\n{title}\n")
    print("| rules | findings | witness confirmed | inconclusive | refuted | with a fix | fix verified |")
    print("|---|---|---|---|---|---|---|")
    rows = [(code, (code,)) for code in REUSES] + [
        ("KEY101–KEY104", REUSES[:4]),
        ("reuse: KEY101–KEY105, KEY108", COLLISIONS),
        ("KEY101–KEY111", REUSES),
        ("KEY301", WHOLE),
    ]
    for name, codes in rows:
        chosen = [finding for finding in findings if finding["code"] in codes]
        if not chosen:
            continue
        status = collections.Counter((finding["witness"] or {}).get("status") for finding in chosen)
        fixes = [finding["fix"] for finding in chosen if finding["fix"]]
        verified = sum(fix["verdict"] == "verified" for fix in fixes)

        def share(count, of=len(chosen)):
            return f"{count} ({100 * count / of:.0f} %)" if of else "0"

        print(f"| {name} | {len(chosen)} | {share(status['confirmed'])} | {status['inconclusive']} | {status['refuted']} | "
              f"{share(len(fixes))} | {share(verified, len(fixes))} |")


def code_of(path):
    """The Python text of a file or of a notebook's code cells, without the commands of IPython."""
    text = path.read_bytes()
    if path.suffix != ".ipynb":
        return [text]
    cells = [cell for cell in json.loads(text).get("cells", []) if cell.get("cell_type") == "code"]
    sources = ["".join(cell["source"]) for cell in cells]
    return [source for source in sources if not any(line.lstrip()[:1] in "%!?" for line in source.splitlines() if line.strip())]


def parses(path):
    try:
        for source in code_of(path):
            ast.parse(source)
    except SyntaxError as error:
        return f"{path}: {error}"
    return None


def repaired(keylint, package, copy):
    """Repairs a copy; the files that changed, and those that parsed before and do not any more."""
    shutil.copytree(package, copy)
    check(keylint, copy, "--fix", "--unsafe-fixes", "--quiet", "--min-level", "note")
    changed, broken = 0, []
    for path in sorted(copy.rglob("*")):
        original = package / path.relative_to(copy)
        if path.suffix not in (".py", ".pyi", ".ipynb") or path.read_bytes() == original.read_bytes():
            continue
        changed += 1
        problem = parses(path)
        if problem and not parses(original):
            broken.append(problem)
    return changed, broken


def applied(lines, edits):
    """The lines after edits, each `(row, column, end row, end column, content)`."""
    lines = list(lines)
    for row, column, end_row, end_column, content in sorted(edits, reverse=True):
        joined = lines[row - 1][:column - 1] + content + lines[end_row - 1][end_column - 1:]
        lines[row - 1:end_row] = joined.split("\n")
    return lines


def texts(path):
    """The lines of a file, or of each cell of a notebook by its number."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix != ".ipynb":
        return {None: text.split("\n")}
    return {number: "".join(cell["source"]).split("\n") for number, cell in enumerate(json.loads(text)["cells"], 1)}


def diff(package, finding, around=4):
    edits = collections.defaultdict(list)
    for edit in finding["fix"]["edits"]:
        start, end = edit["location"], edit["end_location"]
        edits[edit.get("cell")].append((start["row"], start["column"], end["row"], end["column"], edit["content"]))
    shown = []
    for cell, lines in texts(package / finding["filename"]).items():
        if cell in edits:
            after = applied(lines, edits[cell])
            title = [f"cell {cell}"] if cell else []
            shown += title + list(difflib.unified_diff(lines, after, lineterm="", n=around))[2:]
    return "\n".join(shown)


def place_of(package, finding):
    cell = f"cell {finding['cell']}:" if finding["cell"] else ""
    return f"{package.name}/{finding['filename']}:{cell}{finding['location']['row']} {finding['code']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("--keylint", default="target/release/keylint")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--no-repair", action="store_true", help="leave out the repaired copies")
    parser.add_argument("--findings", type=pathlib.Path)
    parser.add_argument("--skip", type=pathlib.Path, action="append", default=[])
    arguments = parser.parse_args()
    keylint = str(pathlib.Path(arguments.keylint).resolve())
    noted, places, changed, broken = [], [], 0, []
    packages = sorted(folder for folder in arguments.corpus.iterdir() if folder.is_dir())
    for package in packages:
        found = found_in(keylint, package, arguments.findings)
        noted += found
        places += [(package, finding) for finding in found]
        if not arguments.no_repair:
            with tempfile.TemporaryDirectory() as folder:
                count, problems = repaired(keylint, package, pathlib.Path(folder, package.name))
            changed += count
            broken += problems
    shares("Findings shown by default", [finding for finding in noted if finding["level"] != "note"])
    shares("Notes as well, which are mostly findings in tests", noted)
    if not arguments.no_repair:
        print(f"\n{changed} files are changed by --fix --unsafe-fixes; {len(broken)} of them parse no more.")
        print("\n".join(broken))
    if arguments.sample:
        fixed = [(package, finding) for package, finding in places
                 if finding["fix"] and finding["fix"]["verdict"] == "verified" and finding["code"][:4] in ("KEY1", "KEY2")]
        # One fix may resolve several findings.
        distinct = {(str(package), finding["filename"], json.dumps(finding["fix"]["edits"])): (package, finding) for package, finding in fixed}
        read = "".join(path.read_text(encoding="utf-8") for path in arguments.skip)
        left = sorted(at for at in distinct if f". {place_of(*distinct[at])} " not in read)
        chosen = random.Random(arguments.seed).sample(left, min(arguments.sample, len(left)))
        print(f"\n{len(distinct)} verified fixes, {len(left)} of them not read before")
        for number, at in enumerate(sorted(chosen), 1):
            package, finding = distinct[at]
            print(f"\n=== {number}. {place_of(package, finding)} {finding['level']}: {finding['message']}")
            print(f"    {finding['fix']['message']}")
            print(diff(package, finding))
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
