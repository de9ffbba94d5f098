#!/usr/bin/env python3
"""Draws the sample of findings that `docs/precision.md` judges, from the JSON that keylint printed for each package.

    for package in CORPUS/*/; do
        (cd "$package" && keylint check . --output-format json --min-level note --min-confidence low) \
            > FINDINGS/"$(basename "$package")".json
    done
    .ci/precision_sample.py FINDINGS [--format text|tsv] [--seed 2026] [--count 100]

One file of findings for each package, named `<package>-<version>.json`. Of the findings of KEY1xx and KEY2xx it draws
`--count`, at most `--per-package` of one package and `--per-rule` of one rule. Notes take part although they are
hidden by default; findings of low confidence take part only where the others do not fill the sample. The same
files and the same seed give the same sample on any machine, for findings are put in order before they are drawn.
"""

import argparse
import collections
import json
import pathlib
import random
import re

Finding = collections.namedtuple("Finding", "package version rule path cell line column level confidence message")


def read(folder):
    """The findings of KEY1xx and KEY2xx, in an order that depends on nothing but what they are."""
    found = []
    for file in sorted(pathlib.Path(folder).glob("*.json")):
        package, _, version = file.stem.rpartition("-")
        text = file.read_text(encoding="utf-8")
        for entry in json.loads(text) if text.strip() else []:
            if not re.fullmatch(r"KEY[12]\d\d", entry["code"]):
                continue
            where = entry["location"]
            path = entry["filename"].removeprefix("./")
            found.append(
                Finding(package, version, entry["code"], path, entry.get("cell") or 0, where["row"], where["column"],
                        entry["level"], entry["confidence"], entry["message"])
            )
    return sorted(set(found))


def draw(findings, chosen, arguments, generator):
    """Adds findings in random order to `chosen` for as long as the limits of packages and rules allow."""
    packages = collections.Counter(finding.package for finding in chosen)
    rules = collections.Counter(finding.rule for finding in chosen)
    order = list(findings)
    generator.shuffle(order)
    for finding in order:
        if len(chosen) == arguments.count:
            break
        if packages[finding.package] < arguments.per_package and rules[finding.rule] < arguments.per_rule:
            packages[finding.package] += 1
            rules[finding.rule] += 1
            chosen.append(finding)


def main():
    parser = argparse.ArgumentParser(description="Draws a sample of findings to judge.")
    parser.add_argument("folder", help="JSON files of findings, one for each package")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--per-package", type=int, default=15)
    parser.add_argument("--per-rule", type=int, default=25)
    parser.add_argument("--format", choices=["text", "tsv"], default="text")
    arguments = parser.parse_args()

    findings = read(arguments.folder)
    generator = random.Random(arguments.seed)
    chosen = []
    draw([finding for finding in findings if finding.confidence != "low"], chosen, arguments, generator)
    draw([finding for finding in findings if finding.confidence == "low"], chosen, arguments, generator)
    chosen.sort()
    for finding in chosen:
        if arguments.format == "tsv":
            print("\t".join(str(field) for field in finding))
        else:
            cell = f"cell {finding.cell}:" if finding.cell else ""
            print(f"{finding.package} {finding.rule} {finding.path}:{cell}{finding.line} {finding.level} {finding.confidence}: "
                  f"{finding.message}")


if __name__ == "__main__":
    main()
