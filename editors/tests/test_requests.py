"""Hovers, actions, hints and commands; and what a server must stand."""

import asyncio

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

import oracle
import sample
from session import insist


def whole(session, name: str, cell: int | None = None) -> types.Range:
    """The range of a whole document."""
    text = session.texts[name] if cell is None else session.cells[name][cell - 1][1]
    return types.Range(types.Position(0, 0), session.position(name, len(text), cell))


async def hover(session, name: str, needle: str, cell: int | None = None, skip: int = 0):
    """The hover in the middle of the first place where a text stands."""
    text = session.texts[name] if cell is None else session.cells[name][cell - 1][1]
    at = session.position(name, text.index(needle) + skip, cell)
    params = types.HoverParams(types.TextDocumentIdentifier(session.uri(name, cell)), at)
    return await insist(lambda: session.client.text_document_hover_async(params))


async def test_the_offer(session):
    result = await session.start()
    assert result.server_info.name == "keylint"
    offer = result.capabilities
    assert offer.hover_provider and offer.code_action_provider and offer.execute_command_provider
    assert "keylint.showLineage" in offer.execute_command_provider.commands
    assert offer.notebook_document_sync.notebook_selector
    assert offer.text_document_sync.change == types.TextDocumentSyncKind.Incremental


async def test_a_hover_tells_of_a_key(session):
    await session.start()
    session.open("clean.py")
    found = await hover(session, "clean.py", "first)", skip=1)
    assert "split" in found.contents.value, found
    assert found.contents.kind == types.MarkupKind.Markdown
    session.open("windows.py")
    found = await hover(session, "windows.py", "key)\r\n\treturn", skip=1)
    assert "key" in found.contents.value
    assert await hover(session, "windows.py", "return a") is None


async def test_a_hover_tells_concrete_key_data(session):
    await session.start()
    session.open_notebook("explore.ipynb", sample.NOTEBOOK_CELLS)
    found = await hover(session, "explore.ipynb", "key)", cell=3, skip=1)
    assert "key(0)" in found.contents.value, found
    assert "[0, 0]" in found.contents.value, found


async def test_a_hover_on_a_code_in_a_comment_is_its_page(session):
    await session.start()
    session.open("train.py")
    found = await hover(session, "train.py", "KEY101", skip=2)
    assert "key-reused" in found.contents.value


async def test_a_quick_fix_writes_what_the_command_line_writes(session):
    await session.start()
    session.open("windows.py")
    (found,) = await session.diagnostics_at("windows.py", "KEY101")
    actions = await session.actions("windows.py", found.range, [found], [types.CodeActionKind.QuickFix])
    fix = next(it for it in actions if "split" in it.title)
    assert fix.kind == types.CodeActionKind.QuickFix and "KEY101" in fix.title
    assert [it.code for it in fix.diagnostics] == ["KEY101"]
    session.apply((await session.resolve(fix)).edit)
    expected = oracle.fixed(session.folder, "windows.py", "--unsafe-fixes")
    assert session.texts["windows.py"].encode() == expected
    assert await session.until(lambda reported: not reported) == {}


@pytest.mark.parametrize("unsafe", [False, True])
async def test_fix_all_writes_what_the_command_line_writes(session, unsafe):
    await session.start({"unsafeFixes": unsafe})
    session.open("train.py")
    await session.diagnostics_at("train.py", "KEY302")
    (action,) = await session.actions("train.py", whole(session, "train.py"), only=["source.fixAll.keylint"])
    assert action.kind == "source.fixAll.keylint"
    session.apply((await session.resolve(action)).edit)
    expected = oracle.fixed(session.folder, "train.py", *(["--unsafe-fixes"] if unsafe else []))
    assert session.texts["train.py"].encode() == expected
    assert await session.actions("train.py", whole(session, "train.py"), only=["source.fixAll"]) == []


async def test_a_fix_of_a_notebook_goes_to_its_cells(session):
    await session.start({"unsafeFixes": True})
    name = "explore.ipynb"
    session.open_notebook(name, sample.NOTEBOOK_CELLS)
    (found,) = await session.diagnostics_at(name, "KEY101", 4)
    actions = await session.actions(name, found.range, [found], [types.CodeActionKind.QuickFix], cell=4)
    fix = next(it for it in actions if "split" in it.title)
    session.apply((await session.resolve(fix)).edit)
    oracle.fixed(session.folder, name, "--unsafe-fixes")
    assert [text for _, text in session.cells[name]] == oracle.cells_of(session.folder / name)


async def test_fix_all_of_a_notebook(session):
    await session.start({"unsafeFixes": True})
    name = "explore.ipynb"
    session.open_notebook(name, sample.NOTEBOOK_CELLS)
    await session.diagnostics_at(name, "KEY101", 4)
    (action,) = await session.actions(name, whole(session, name, 4), only=["source.fixAll.keylint"], cell=4)
    session.apply((await session.resolve(action)).edit)
    oracle.fixed(session.folder, name, "--unsafe-fixes")
    assert [text for _, text in session.cells[name]] == oracle.cells_of(session.folder / name)


async def test_a_finding_is_silenced_with_a_reason(session):
    await session.start({"ignoreReason": "compares two runs"})
    session.open("windows.py")
    (found,) = await session.diagnostics_at("windows.py", "KEY101")
    actions = await session.actions("windows.py", found.range, [found])
    ignore = next(it for it in actions if "gnore" in it.title)
    session.apply((await session.resolve(ignore)).edit)
    oracle.run(session.folder, "--add-ignores", "compares two runs", "windows.py")
    assert session.texts["windows.py"].encode() == (session.folder / "windows.py").read_bytes()
    assert "keylint: ignore[" in session.texts["windows.py"]
    assert await session.until(lambda reported: not reported) == {}


async def test_only_the_kinds_asked_for_are_offered(session):
    await session.start()
    session.open("train.py")
    (found,) = await session.diagnostics_at("train.py", "KEY302")
    everything = await session.actions("train.py", found.range, [found])
    assert {it.kind for it in everything} >= {"quickfix", "source.fixAll.keylint"}
    for only in ("refactor", "source.organizeImports"):
        assert await session.actions("train.py", found.range, [found], [only]) == []
    for only in ("source", "source.fixAll", "source.fixAll.keylint"):
        assert [it.kind for it in await session.actions("train.py", found.range, [], [only])] == ["source.fixAll.keylint"]


async def test_an_action_of_an_older_text_is_not_resolved(session):
    await session.start()
    session.open("train.py")
    await session.diagnostics_at("train.py", "KEY302")
    (action,) = await session.actions("train.py", whole(session, "train.py"), only=["source.fixAll.keylint"])
    session.replace("train.py", 0, 0, "# more\n")
    if action.edit is not None:
        return
    with pytest.raises(JsonRpcException):
        await session.client.code_action_resolve_async(action)


async def test_hints_mark_consumptions_if_they_are_wanted(session):
    await session.start({"inlayHints": True})
    session.open("windows.py")
    params = types.InlayHintParams(types.TextDocumentIdentifier(session.uri("windows.py")), whole(session, "windows.py"))
    hints = await insist(lambda: session.client.text_document_inlay_hint_async(params))
    rows = {it.position.line for it in hints}
    assert rows <= {5, 6} and 6 in rows, hints
    session.client.set_configuration({"keylint": {"inlayHints": False}})
    session.client.workspace_did_change_configuration(
        types.DidChangeConfigurationParams(settings={"keylint": {"inlayHints": False}})
    )
    for _ in range(200):
        if not await insist(lambda: session.client.text_document_inlay_hint_async(params)):
            return
        await asyncio.sleep(0.02)
    pytest.fail("hints that are not wanted")


async def test_the_lineage_of_a_function(session):
    await session.start()
    session.open("train.py")
    at = session.position("train.py", session.texts["train.py"].index("weights"))
    place = {"uri": session.uri("train.py"), "position": {"line": at.line, "character": at.character}}
    params = types.ExecuteCommandParams("keylint.showLineage", [place])
    text = await insist(lambda: session.client.workspace_execute_command_async(params))
    assert isinstance(text, str) and "key" in text and "init" in text, text
    page = types.ExecuteCommandParams("keylint.showLineage", [{**place, "format": "html"}])
    page = await insist(lambda: session.client.workspace_execute_command_async(page))
    assert page.startswith("<!DOCTYPE html>") and "init" in page, page


async def test_what_is_wrong_is_answered_and_survived(session):
    await session.start()
    session.open("windows.py")
    for command, arguments in (("keylint.nothing", []), ("keylint.showLineage", []), ("keylint.showLineage", [3])):
        with pytest.raises(JsonRpcException):
            await session.client.workspace_execute_command_async(types.ExecuteCommandParams(command, arguments))
    far = types.HoverParams(types.TextDocumentIdentifier(session.uri("windows.py")), types.Position(9999, 9999))
    assert await insist(lambda: session.client.text_document_hover_async(far)) is None
    stranger = types.HoverParams(types.TextDocumentIdentifier("file:///gone.py"), types.Position(0, 0))
    assert await insist(lambda: session.client.text_document_hover_async(stranger)) is None
    with pytest.raises(JsonRpcException):
        await session.client.protocol.send_request_async("keylint/nothing", {})
    # Changes of what is not open are passed over.
    session.client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(3, "file:///gone.py"),
            [types.TextDocumentContentChangeWholeDocument(text="")],
        )
    )
    assert await session.diagnostics_at("windows.py", "KEY101")


async def test_requests_can_be_cancelled(session):
    await session.start()
    session.open("train.py")
    pending = []
    for number in range(20):
        session.replace("train.py", 0, 0, "# more\n")
        params = types.HoverParams(types.TextDocumentIdentifier(session.uri("train.py")), types.Position(30, 16))
        request = session.client.protocol.send_request_async("textDocument/hover", params, msg_id=f"hover-{number}")
        pending.append(asyncio.ensure_future(request))
    await asyncio.sleep(0)
    for number in range(20):
        session.client.cancel_request(types.CancelParams(f"hover-{number}"))
    # Each is answered, by a hover or by an error that says that it was cancelled or that the text has changed.
    for answer in await asyncio.wait_for(asyncio.gather(*pending, return_exceptions=True), 10):
        assert answer is None or isinstance(answer, types.Hover) or answer.code in (-32800, -32801), answer
    assert await session.diagnostics_at("train.py", "KEY101")


async def test_a_text_that_was_never_saved(session):
    await session.start()
    uri = "untitled:Untitled-1"
    session.client.text_document_did_open(
        types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 1, sample.WINDOWS))
    )
    for _ in range(200):
        codes = [it.code for it in await session.ask(uri)]
        if codes:
            break
        await asyncio.sleep(0.02)
    assert codes == ["KEY101"]
    session.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
