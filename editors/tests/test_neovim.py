"""Neovim, headless, with the configuration of editors/neovim."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

import oracle
import sample

EDITORS = pathlib.Path(__file__).parent.parent


def of_neovim(shown: list[dict]) -> list[oracle.Reported]:
    """What Neovim shows, as it is compared."""
    assert {it["source"] for it in shown} <= {"keylint"}
    return sorted(
        oracle.Reported(tuple(it["start"]), tuple(it["end"]), it["code"], it["severity"], it["message"]) for it in shown
    )


@pytest.mark.parametrize("unsafe", [False, True])
def test_neovim_shows_and_repairs(folder, tmp_path, unsafe):
    if shutil.which("nvim") is None:
        pytest.skip("Neovim is not installed")
    # Neovim counts bytes, whatever its client asked for.
    expected = oracle.reported(folder, "utf-8", "train.py", "windows.py")
    answers = tmp_path / "report.json"
    environment = {
        "EDITORS": str(EDITORS),
        "KEYLINT": oracle.KEYLINT,
        "PROJECT": str(folder),
        "REPORT": str(answers),
        "SETTINGS": json.dumps({"unsafeFixes": unsafe, "minLevel": "warning"}),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    command = ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", f"luafile {EDITORS}/tests/neovim.lua"]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120)
    assert answers.exists(), done.stderr
    report = json.loads(answers.read_text())
    assert report.get("problem") is None, report["problem"]
    assert done.returncode == 0

    assert of_neovim(report["windows"]) == expected["windows.py", None]
    assert of_neovim(report["train"]) == expected["train.py", None]
    assert report["servers"] == 1 and report["again"] is False
    assert "key" in report["lineage"]

    copy = sample.write(tmp_path / "copy")
    assert (folder / "windows.fixed").read_bytes() == oracle.fixed(copy, "windows.py", "--unsafe-fixes")
    assert (folder / "train.fixed").read_bytes() == oracle.fixed(copy, "train.py", *["--unsafe-fixes"][: int(unsafe)])
    left = [it.code for it in of_neovim(report["after"])]
    assert left == [it.code for it in oracle.reported(copy, "utf-8", "train.py")["train.py", None]]


def test_the_configuration_for_newer_versions_is_a_table(tmp_path):
    if shutil.which("nvim") is None:
        pytest.skip("Neovim is not installed")
    answer = tmp_path / "table.json"
    script = f"lua vim.fn.writefile({{vim.fn.json_encode(dofile('{EDITORS}/neovim/lsp/keylint.lua'))}}, '{answer}')"
    subprocess.run(["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", script, "-c", "qall!"], timeout=60)
    table = json.loads(answer.read_text())
    assert table["cmd"] == ["keylint", "server"] and table["filetypes"] == ["python"]
    assert "keylint.toml" in table["root_markers"]
