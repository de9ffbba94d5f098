"""Findings, in files and notebooks, as they are typed, saved, configured and imported."""

import asyncio
import random

import pytest
from lsprotocol import types

import oracle
import sample
from session import insist

ALL = ("train.py", "windows.py", "helper.py", "caller.py", "clean.py")


async def test_editors_and_command_line_report_the_same(session):
    await session.start()
    for name in ALL:
        session.open(name)
    session.open_notebook("explore.ipynb", sample.NOTEBOOK_CELLS)
    expected = oracle.reported(session.folder, session.unit, *ALL, "explore.ipynb")
    codes = {place: [it.code for it in findings] for place, findings in expected.items()}
    assert codes == {
        ("train.py", None): ["KEY302", "KEY101", "KEY110", "KEY103", "KEY002"],
        ("windows.py", None): ["KEY101"],
        ("caller.py", None): ["KEY101"],
        ("explore.ipynb", 4): ["KEY101"],
    }
    await session.expect(expected)


async def test_units_of_columns_are_the_clients(session):
    await session.start()
    assert session.unit == {"vscode": "utf-16", "neovim": "utf-8", "emacs": "utf-32"}[session.profile]
    session.open("windows.py")
    (found,) = await session.diagnostics_at("windows.py", "KEY101")
    text = session.texts["windows.py"]
    start = text.index("jax.random.uniform")
    assert found.range.start == session.position("windows.py", start)
    assert found.range.end == session.position("windows.py", start + len("jax.random.uniform(key)"))


async def test_details_are_those_that_the_client_takes(session):
    await session.start()
    session.open("train.py")
    (reuse,) = await session.diagnostics_at("train.py", "KEY101")
    (discarded,) = await session.diagnostics_at("train.py", "KEY110")
    assert types.DiagnosticTag.Unnecessary in discarded.tags
    if session.profile == "emacs":
        assert reuse.related_information is None and reuse.code_description is None
        return
    texts = [it.message for it in reuse.related_information]
    assert texts == ["parameter `key`", "first consumed here by `jax.random.normal`"]
    first = session.texts["train.py"].index("jax.random.normal")
    assert reuse.related_information[1].location.range.start == session.position("train.py", first)
    assert reuse.related_information[1].location.uri == session.uri("train.py")
    if session.profile == "vscode":
        assert "key-reused" in reuse.code_description.href
        assert reuse.data is not None


async def test_edits_are_followed(session):
    await session.start()
    session.open("train.py")
    await session.diagnostics_at("train.py", "KEY101")
    text = session.texts["train.py"]
    second = text.index("key", text.index("🎲🎲"))
    session.replace("train.py", second, second + len("key"), "jax.random.key(1)")
    reported = await session.until(lambda reported: "KEY101" not in [it.code for it in reported[("train.py", None)]])
    assert [it.code for it in reported[("train.py", None)]] == ["KEY302", "KEY110", "KEY103", "KEY002"]
    # Several changes in one message, each counted in the text that the one before has left.
    session.edit("train.py", [(0, 0, "# 🎲\n"), (0, 0, "# ü\n"), (4, 4, "\n")])
    await session.compare()
    session.write_over("train.py", sample.WINDOWS)
    await session.compare()


async def test_a_file_that_is_no_python_any_more(session):
    await session.start()
    session.open("windows.py")
    session.replace("windows.py", 0, 0, "def (:\r\n")
    assert await session.diagnostics_at("windows.py", "KEY001")
    session.replace("windows.py", 0, len("def (:\r\n"), "")
    await session.diagnostics_at("windows.py", "KEY101")


async def test_closing_takes_back_what_was_pushed(session):
    await session.start()
    session.open("windows.py")
    assert await session.diagnostics_at("windows.py", "KEY101")
    uri = session.uri("windows.py")
    session.close("windows.py")
    for _ in range(200):
        if session.pulls or not session.client.diagnostics.get(uri):
            break
        await asyncio.sleep(0.02)
    else:
        pytest.fail("diagnostics of a closed file stay")


async def test_importers_of_an_edited_file_are_reported_again(session):
    await session.start()
    session.open("helper.py")
    session.open("caller.py")
    assert await session.diagnostics_at("caller.py", "KEY101")
    text = session.texts["helper.py"]
    draw = "return jax.random.normal(key)"
    start = text.index(draw)
    # Nothing is saved: the overlay counts.
    session.replace("helper.py", start, start + len(draw), "return 0")
    reported = await session.until(lambda reported: not reported)
    assert reported == {}
    session.replace("helper.py", start, start + len("return 0"), draw)
    assert await session.diagnostics_at("caller.py", "KEY101")


async def test_a_file_that_changes_on_the_disk(session):
    await session.start()
    session.open("caller.py")
    assert await session.diagnostics_at("caller.py", "KEY101")
    helper = session.folder / "helper.py"
    helper.write_text("def noise(key):\n    return 0\n")
    event = types.FileEvent(session.uri("helper.py"), types.FileChangeType.Changed)
    session.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
    assert await session.until(lambda reported: not reported) == {}


async def test_the_configuration_is_read_again_when_it_changes(session):
    await session.start()
    session.open("train.py")
    assert await session.diagnostics_at("train.py", "KEY101")
    (session.folder / "keylint.toml").write_text('select = ["KEY302"]\n')
    event = types.FileEvent(session.uri("keylint.toml"), types.FileChangeType.Changed)
    session.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
    reported = await session.until(lambda reported: [it.code for it in reported.get(("train.py", None), [])] == ["KEY302"])
    assert [it.code for it in reported[("train.py", None)]] == ["KEY302"]


async def test_files_are_watched_if_the_client_can(session):
    await session.start()
    session.open("clean.py")
    can = session.client.capabilities.workspace.did_change_watched_files.dynamic_registration
    await asyncio.sleep(0.3)
    watched = [it for it in session.client.registrations if it.method == "workspace/didChangeWatchedFiles"]
    assert bool(watched) == can


async def test_settings_override_the_file(session):
    settings = {"select": ["KEY110"], "minLevel": "note"}
    await session.start(settings)
    session.open("train.py")
    reported = await session.until(lambda reported: reported)
    assert [it.code for it in reported[("train.py", None)]] == ["KEY110"]
    # Without them it is what the file says, which the end of the session compares.
    session.client.set_configuration({"keylint": {}})
    session.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings={"keylint": {}}))


async def test_wrong_settings_are_reported_and_harmless(session):
    await session.start({"minLevel": "loud", "selekt": []})
    session.open("windows.py")
    assert await session.diagnostics_at("windows.py", "KEY101")
    reported = [it.message for it in [*session.client.messages, *session.client.log_messages]]
    assert any("selekt" in it for it in reported), reported


async def test_folders_have_settings_of_their_own(vscode, tmp_path):
    session = vscode
    other = sample.write(tmp_path / "other")
    await session.start({}, [session.folder, other])
    session.client.set_configuration({"keylint": {"ignore": ["KEY1"]}}, scope_uri=other.as_uri())
    session.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
    session.open("windows.py")
    uri = (other / "train.py").as_uri()
    session.client.text_document_did_open(
        types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 1, sample.TRAIN))
    )
    assert await session.diagnostics_at("windows.py", "KEY101")
    for _ in range(200):
        codes = {it.code for it in await session.ask(uri)}
        if codes and not any(code.startswith("KEY1") for code in codes):
            break
        await asyncio.sleep(0.02)
    assert codes == {"KEY302"}, codes
    event = types.WorkspaceFoldersChangeEvent(added=[], removed=[types.WorkspaceFolder(other.as_uri(), "other")])
    session.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
    session.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))


async def test_the_whole_workspace_can_be_pulled(session):
    await session.start()
    if not session.pulls:
        return
    session.open("clean.py")
    params = types.WorkspaceDiagnosticParams(previous_result_ids=[])
    report = await insist(lambda: session.client.workspace_diagnostic_async(params))
    reported = {}
    for item in report.items:
        if getattr(item, "items", None):
            reported[item.uri] = sorted(it.code for it in item.items)
    expected = {}
    for finding in oracle.report(session.folder, "."):
        expected.setdefault(session.uri(finding["filename"]), []).append(finding["code"])
    assert reported == {uri: sorted(codes) for uri, codes in expected.items()}


async def test_notebooks_are_read_cell_by_cell(session):
    await session.start()
    session.open_notebook("explore.ipynb", sample.NOTEBOOK_CELLS)
    (found,) = await session.diagnostics_at("explore.ipynb", "KEY101", 4)
    assert found.range.start == session.position("explore.ipynb", len("b = '🎲', "), 4)
    # The first cell that draws now draws from another key.
    start = sample.NOTEBOOK_CELLS[2][1].index("key)")
    session.edit_cell("explore.ipynb", 3, start, start + 3, "jax.random.key(1)")
    assert await session.until(lambda reported: not reported) == {}
    session.edit_cell("explore.ipynb", 3, start, start + len("jax.random.key(1)"), "key")
    assert await session.diagnostics_at("explore.ipynb", "KEY101", 4)


async def test_cells_come_and_go(session):
    await session.start()
    session.open_notebook("explore.ipynb", sample.NOTEBOOK_CELLS)
    assert await session.diagnostics_at("explore.ipynb", "KEY101", 4)
    name, number = "explore.ipynb", len(sample.NOTEBOOK_CELLS) + 1
    text = "c = jax.random.normal(key)"
    # A new last cell, which the client gives an address of its own.
    session.cells[name].append(("code", text))
    added = types.NotebookCell(types.NotebookCellKind.Code, session.uri(name, number))
    structure = types.NotebookDocumentCellChangeStructure(
        array=types.NotebookCellArrayChange(start=number - 1, delete_count=0, cells=[added]),
        did_open=[types.TextDocumentItem(session.uri(name, number), "python", 1, text)],
    )
    session.change_cells(name, types.NotebookDocumentCellChanges(structure=structure))
    assert await session.diagnostics_at(name, "KEY101", number)
    await session.compare()
    # And it goes again.
    session.cells[name].pop()
    structure = types.NotebookDocumentCellChangeStructure(
        array=types.NotebookCellArrayChange(start=number - 1, delete_count=1, cells=[]),
        did_close=[types.TextDocumentIdentifier(session.uri(name, number))],
    )
    session.change_cells(name, types.NotebookDocumentCellChanges(structure=structure))


async def test_random_edits_give_what_a_fresh_run_gives(session):
    await session.start()
    session.open("train.py")
    session.open("windows.py")
    dice = random.Random(263)
    pieces = ("key", "🎲", "\n", "    ", "jax.random.normal(key)\n", "ü", "jax.random.split(key)", "\t", "(", ")", "# ", "")
    for step in range(60):
        name = dice.choice(("train.py", "windows.py"))
        edits, text = [], session.texts[name]
        for _ in range(dice.randint(1, 3)):
            start = dice.randint(0, len(text))
            end = min(len(text), start + dice.choice((0, 0, 1, 3, 20)))
            new = dice.choice(pieces)
            # A position between the two characters of a line end cannot be expressed.
            if "\r" in (text[start - 1 : start], text[end - 1 : end]):
                continue
            edits.append((start, end, new))
            text = text[:start] + new + text[end:]
        session.edit(name, edits)
        if step % 5 == 4:
            await session.compare()
