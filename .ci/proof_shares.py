#!/usr/bin/env python3
"""What is proven of keylint's findings on a corpus: shares of witnesses and fixes, fixed files that parse, and diffs to read.

    .ci/proof_shares.py CORPUS [--keylint target/release/keylint] [--sample 50] [--seed 2026]

CORPUS holds packages, a folder each. Every package is checked from its own folder with default settings but for `--isolated`, and once more
with notes. Then a copy of each is repaired with `--fix --unsafe-fixes`, and every file that changed has to parse. With `--sample` the diffs of
that many verified fixes of KEY1xx and KEY2xx are printed, drawn at random, each with a few lines around it.
"""

import argparse
import ast
import collections
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

COLLISIONS = ("KEY101", "KEY102", "KEY103", "KEY104", "KEY105", "KEY108")
REUSES = tuple(f"KEY{code}" for code in range(101, 112))


def check(keylint, folder, *options):
    command = [keylint, "check", ".", "--isolated", "--no-cache", "--no-progress", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode not in (0, 1, 2):
        sys.exit(f"{folder}: keylint ended with {done.returncode}\n{done.stderr}")
    return done.stdout


def shares(title, findings):
    print(f"\n{title}\n")
    print("| rules | findings | witness confirmed | inconclusive | refuted | with a fix | fix verified |")
    print("|---|---|---|---|---|---|---|")
    rows = [(code, (code,)) for code in REUSES] + [
        ("KEY101–KEY104", REUSES[:4]),
        ("what meets: KEY101–KEY105, KEY108", COLLISIONS),
        ("KEY101–KEY111", REUSES),
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


def diff(package, finding, around=4):
    import difflib

    path = package / finding["filename"]
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    edits = [(edit["location"]["row"], edit["location"]["column"], edit["end_location"]["row"], edit["end_location"]["column"],
              edit["content"]) for edit in finding["fix"]["edits"]]
    after = applied(lines, edits)
    return "\n".join(list(difflib.unified_diff(lines, after, lineterm="", n=around))[2:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("--keylint", default="target/release/keylint")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--no-repair", action="store_true", help="leave out the repaired copies")
    arguments = parser.parse_args()
    keylint = str(pathlib.Path(arguments.keylint).resolve())
    noted, places, changed, broken = [], [], 0, []
    packages = sorted(folder for folder in arguments.corpus.iterdir() if folder.is_dir())
    for package in packages:
        found = json.loads(check(keylint, package, "--output-format", "json", "--min-level", "note") or "[]")
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
        # One fix may mend several findings.
        distinct = {(str(package), finding["filename"], json.dumps(finding["fix"]["edits"])): (package, finding) for package, finding in fixed}
        chosen = random.Random(arguments.seed).sample(sorted(distinct), min(arguments.sample, len(distinct)))
        for number, at in enumerate(sorted(chosen), 1):
            package, finding = distinct[at]
            row = finding["location"]["row"]
            print(f"\n=== {number}. {package.name}/{finding['filename']}:{row} {finding['code']} {finding['level']}: {finding['message']}")
            print(f"    {finding['fix']['message']}")
            print("(a notebook)" if finding["cell"] else diff(package, finding))
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
