"""Emacs in batch mode with eglot, flymake and the set-up of editors/emacs."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

import oracle
import sample

TESTS = pathlib.Path(__file__).parent
TYPES = {"eglot-error": 1, "eglot-warning": 2, "eglot-note": 3}


def of_emacs(shown: list[dict]) -> list[tuple]:
    """What flymake shows: where it begins and ends, how bad it is, and its first words."""
    return sorted((tuple(it["start"]), tuple(it["end"]), TYPES[it["type"]]) for it in shown)


def of_oracle(findings: list[oracle.Reported]) -> list[tuple]:
    return sorted((it.start, it.end, it.severity) for it in findings)


def test_emacs_shows_and_repairs(folder, tmp_path):
    if shutil.which("emacs") is None:
        pytest.skip("Emacs is not installed")
    # A buffer of Emacs has characters.
    expected = oracle.reported(folder, "utf-32", "train.py", "windows.py")
    answers = tmp_path / "report.json"
    environment = {
        "HOME": str(tmp_path),
        "KEYLINT": oracle.KEYLINT,
        "LC_ALL": "C.UTF-8",
        "PROJECT": str(folder),
        "REPORT": str(answers),
    }
    # With -Q the folders of Debian's packages are not looked into.
    command = ["emacs", "-q", "--batch", "-l", str(TESTS / "emacs.el")]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120)
    assert answers.exists(), done.stderr
    report = json.loads(answers.read_text())
    assert report.get("problem") is None, (report["problem"], done.stderr[-2000:])

    for name, shown in (("windows.py", report["windows"]), ("train.py", report["train"])):
        findings = expected[name, None]
        assert of_emacs(shown) == of_oracle(findings)
        texts = "\n".join(it["text"] for it in shown)
        for finding in findings:
            assert finding.message in texts and finding.code in texts

    copy = sample.write(tmp_path / "copy")
    assert (folder / "windows.fixed").read_bytes() == oracle.fixed(copy, "windows.py", "--unsafe-fixes")
    assert (folder / "train.fixed").read_bytes() == oracle.fixed(copy, "train.py")
    assert of_emacs(report["after"]) == of_oracle(oracle.reported(copy, "utf-32", "train.py")["train.py", None])
    assert "key" in report["lineage"]
