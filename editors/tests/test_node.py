"""A client of the libraries that VS Code is made of, which pulls diagnostics."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

import oracle

TESTS = pathlib.Path(__file__).parent
MODULES = TESTS.parent / "vscode" / "node_modules"
NAMES = ("train.py", "windows.py", "clean.py")


def of_node(items: list[dict]) -> list[oracle.Reported]:
    def spot(position):
        return (position["line"], position["character"])

    return sorted(
        oracle.Reported(spot(it["range"]["start"]), spot(it["range"]["end"]), it["code"], it["severity"], it["message"])
        for it in items
    )


def test_node_pulls_and_the_server_ends_well(folder):
    if shutil.which("node") is None or not MODULES.exists():
        pytest.skip("node or the packages of the extension are not installed")
    done = subprocess.run(
        ["node", str(TESTS / "pull.js"), oracle.KEYLINT, str(folder), *NAMES],
        env={**os.environ, "NODE_PATH": str(MODULES)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["serverInfo"]["name"] == "keylint" and report["status"] == 0
    assert report["provider"]["interFileDependencies"] and report["provider"]["workspaceDiagnostics"]
    expected = oracle.reported(folder, "utf-16", *NAMES)
    for name in NAMES:
        assert of_node(report["documents"][name]) == expected.get((name, None), [])
    assert set(report["unchanged"].values()) <= {"unchanged"}
    # Who pulls is not pushed at.
    assert report["pushed"] == 0

    all_files = {it["filename"] for it in oracle.report(folder, ".")}
    for items in (report["whole"], report["streamed"]):
        assert {it["uri"].rsplit("/", 1)[1] for it in items if it.get("items")} == all_files
