"""A session of an editor: documents that are open, their texts as the editor has them, and what is reported about them."""

import asyncio
import copy
import pathlib

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

import oracle

# How long a server may take to tell what it has to tell.
PATIENCE = 10.0


def profile(name: str) -> types.ClientCapabilities:
    """What an editor says it can do. Each counts columns in another unit, and has its own way to diagnostics."""
    if name == "neovim":
        capabilities = client_capabilities("neovim@v0.11.0")
        capabilities.general.position_encodings = ["utf-8", "utf-16"]
    elif name == "emacs":
        capabilities = client_capabilities("emacs@v29.1")
        capabilities.general.position_encodings = ["utf-32", "utf-16"]
    else:
        capabilities = client_capabilities("visual_studio_code@v1.65.2")
        # What its newer versions say beside.
        capabilities.general.position_encodings = ["utf-16"]
        capabilities.text_document.diagnostic = types.DiagnosticClientCapabilities(
            dynamic_registration=True, related_document_support=True
        )
        capabilities.workspace.diagnostics = types.DiagnosticWorkspaceClientCapabilities(refresh_support=True)
        capabilities.text_document.inlay_hint = types.InlayHintClientCapabilities(dynamic_registration=True)
        capabilities.workspace.inlay_hint = types.InlayHintWorkspaceClientCapabilities(refresh_support=True)
    capabilities.notebook_document = types.NotebookDocumentClientCapabilities(
        synchronization=types.NotebookDocumentSyncClientCapabilities(dynamic_registration=True)
    )
    return copy.deepcopy(capabilities)


def make_client() -> LanguageClient:
    """A client that remembers what the server registers, and applies nothing by itself."""
    client = make_test_lsp_client()
    client.registrations = []

    @client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def register(client: LanguageClient, params: types.RegistrationParams):
        client.registrations.extend(params.registrations)

    @client.feature(types.CLIENT_UNREGISTER_CAPABILITY)
    def unregister(client: LanguageClient, params: types.UnregistrationParams):
        gone = {it.id for it in params.unregisterations}
        client.registrations = [it for it in client.registrations if it.id not in gone]

    @client.feature(types.WORKSPACE_INLAY_HINT_REFRESH)
    def refresh_hints(client: LanguageClient, params: None):
        pass

    return client


async def insist(request):
    """Asks until the answer is about the current state: a server may reply that settings or texts have just changed."""
    end = asyncio.get_running_loop().time() + PATIENCE
    while True:
        try:
            return await request()
        except JsonRpcException as error:
            if error.code not in (-32801, -32802) or asyncio.get_running_loop().time() > end:
                raise
            await asyncio.sleep(0.02)


class Session:
    """What an editor does with one server."""

    def __init__(self, client: LanguageClient, folder: pathlib.Path, name: str):
        self.client = client
        self.folder = folder
        self.profile = name
        self.unit = "utf-16"
        self.pulls = False
        # By file name; a notebook has the list of its cells.
        self.texts: dict[str, str] = {}
        self.cells: dict[str, list[tuple[str, str]]] = {}
        self.versions: dict[str, int] = {}

    async def start(self, settings: dict | None = None, folders: list[pathlib.Path] | None = None):
        """Begins the session."""
        capabilities = profile(self.profile)
        self.client.set_configuration({"keylint": settings or {}})
        result = await self.client.initialize_session(
            types.InitializeParams(
                capabilities=capabilities,
                root_uri=self.folder.as_uri(),
                workspace_folders=[
                    types.WorkspaceFolder(uri=it.as_uri(), name=it.name) for it in folders or [self.folder]
                ],
                initialization_options={"settings": settings or {}},
            )
        )
        self.offer = result.capabilities
        self.unit = str(getattr(result.capabilities.position_encoding, "value", result.capabilities.position_encoding))
        self.pulls = capabilities.text_document.diagnostic is not None and self.offer.diagnostic_provider is not None
        return result

    # --- documents ------------------------------------------------------------------------------------------------

    def uri(self, name: str, cell: int | None = None) -> str:
        """The address of a file, or of a cell by its number."""
        uri = (self.folder / name).as_uri()
        return uri if cell is None else uri.replace("file:", "vscode-notebook-cell:", 1) + f"#cell{cell}"

    def open(self, name: str):
        """Opens a file as it is on the disk."""
        text = (self.folder / name).read_bytes().decode()
        self.texts[name], self.versions[name] = text, 1
        self.client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(self.uri(name), "python", 1, text))
        )

    def position(self, name: str, offset: int, cell: int | None = None) -> types.Position:
        """The position of an offset of the text, in what the client counts."""
        text = self.texts[name] if cell is None else self.cells[name][cell - 1][1]
        before = text[:offset]
        row = before.count("\n")
        return types.Position(row, oracle.length(before[before.rfind("\n") + 1 :], self.unit))

    def offset(self, text: str, position: types.Position) -> int:
        """The offset that a position of the client means."""
        lines = text.split("\n")
        start = sum(len(line) + 1 for line in lines[: position.line])
        line = lines[position.line] if position.line < len(lines) else ""
        column = 0
        while column < len(line) and oracle.length(line[:column], self.unit) < position.character:
            column += 1
        return start + column

    def replace(self, name: str, start: int, end: int, new: str):
        """Changes a part of an open file, by offsets."""
        self.edit(name, [(start, end, new)])

    def edit(self, name: str, edits: list[tuple[int, int, str]]):
        """Changes several parts in one message, one after the other."""
        changes = []
        for start, end, new in edits:
            where = types.Range(self.position(name, start), self.position(name, end))
            changes.append(types.TextDocumentContentChangePartial(range=where, text=new))
            text = self.texts[name]
            self.texts[name] = text[:start] + new + text[end:]
        self.versions[name] += 1
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(self.versions[name], self.uri(name)), changes
            )
        )

    def write_over(self, name: str, text: str):
        """Changes the whole text, which is a change without a range."""
        self.texts[name] = text
        self.versions[name] += 1
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(self.versions[name], self.uri(name)),
                [types.TextDocumentContentChangeWholeDocument(text=text)],
            )
        )

    def save(self, name: str):
        """Writes an open file to the disk."""
        (self.folder / name).write_bytes(self.texts[name].encode())
        self.client.text_document_did_save(
            types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(self.uri(name)))
        )

    def close(self, name: str):
        """Closes an open file."""
        del self.texts[name]
        self.client.text_document_did_close(
            types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(self.uri(name)))
        )

    # --- notebooks ------------------------------------------------------------------------------------------------

    def open_notebook(self, name: str, cells):
        """Opens a notebook of cells, each a kind and a text."""
        self.cells[name], self.versions[name] = list(cells), 1
        self.client.notebook_document_did_open(
            types.DidOpenNotebookDocumentParams(
                types.NotebookDocument(
                    uri=self.uri(name),
                    notebook_type="jupyter-notebook",
                    version=1,
                    cells=[
                        types.NotebookCell(self.cell_kind(kind), self.uri(name, number))
                        for number, (kind, _) in enumerate(cells, 1)
                    ],
                ),
                # Cells without code in the requested language are not sent.
                [
                    types.TextDocumentItem(self.uri(name, number), "python", 1, text)
                    for number, (kind, text) in enumerate(cells, 1)
                    if kind == "code"
                ],
            )
        )

    @staticmethod
    def cell_kind(kind: str) -> types.NotebookCellKind:
        return types.NotebookCellKind.Code if kind == "code" else types.NotebookCellKind.Markup

    def edit_cell(self, name: str, cell: int, start: int, end: int, new: str):
        """Changes a part of the text of a cell, by offsets."""
        kind, text = self.cells[name][cell - 1]
        where = types.Range(self.position(name, start, cell), self.position(name, end, cell))
        self.cells[name][cell - 1] = (kind, text[:start] + new + text[end:])
        edited = types.NotebookDocumentCellContentChanges(
            types.VersionedTextDocumentIdentifier(self.versions[name] + 1, self.uri(name, cell)),
            [types.TextDocumentContentChangePartial(range=where, text=new)],
        )
        self.change_cells(name, types.NotebookDocumentCellChanges(text_content=[edited]))

    def change_cells(self, name: str, changes: types.NotebookDocumentCellChanges):
        """Tells the server what has changed in a notebook, as its next version."""
        self.versions[name] += 1
        self.client.notebook_document_did_change(
            types.DidChangeNotebookDocumentParams(
                types.VersionedNotebookDocumentIdentifier(self.versions[name], self.uri(name)),
                types.NotebookDocumentChangeEvent(cells=changes),
            )
        )

    # --- what is reported -----------------------------------------------------------------------------------------

    def addresses(self) -> dict[str, tuple[str, int | None]]:
        """The addresses of all that is open, with the name and the cell that they stand for."""
        known: dict[str, tuple[str, int | None]] = {self.uri(name): (name, None) for name in self.texts}
        for name, cells in self.cells.items():
            for number, (kind, _) in enumerate(cells, 1):
                if kind == "code":
                    known[self.uri(name, number)] = (name, number)
        return known

    async def ask(self, uri: str) -> list[types.Diagnostic]:
        """The diagnostics of an address, as the client gets them: pulled, or pushed last."""
        if not self.pulls:
            return list(self.client.diagnostics.get(uri, []))
        params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
        answer = await insist(lambda: self.client.text_document_diagnostic_async(params))
        assert answer.kind == "full"
        return list(answer.items)

    async def reported(self) -> dict[tuple[str, int | None], list[oracle.Reported]]:
        """What is reported about all open documents."""
        reported = {}
        for uri, place in self.addresses().items():
            diagnostics = sorted(seen(it) for it in await self.ask(uri))
            if diagnostics:
                reported[place] = diagnostics
        return reported

    async def expect(self, expected: dict[tuple[str, int | None], list[oracle.Reported]]):
        """Waits until exactly this is reported, and checks that it stays."""
        reported = await self.until(lambda reported: reported == expected)
        assert reported == expected
        await asyncio.sleep(0.05)
        assert await self.reported() == expected

    async def until(self, holds):
        """Waits until what is reported satisfies a condition; returns what was reported last in any case."""
        end = asyncio.get_running_loop().time() + PATIENCE
        reported = await self.reported()
        while not holds(reported) and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(0.02)
            reported = await self.reported()
        return reported

    async def diagnostics_at(self, name: str, code: str, cell: int | None = None) -> list[types.Diagnostic]:
        """The diagnostics of a code."""
        uri = self.uri(name, cell)
        await self.until(lambda reported: any(it.code == code for it in reported.get((name, cell), [])))
        return [it for it in await self.ask(uri) if it.code == code]

    async def compare(self):
        """Saves all open documents and compares what is reported with what the command line reports."""
        for name in self.texts:
            self.save(name)
        for name, cells in self.cells.items():
            import sample

            (self.folder / name).write_text(sample.notebook(cells))
            self.client.notebook_document_did_save(
                types.DidSaveNotebookDocumentParams(types.NotebookDocumentIdentifier(self.uri(name)))
            )
        names = [*self.texts, *self.cells]
        expected = oracle.reported(self.folder, self.unit, *names) if names else {}
        await self.expect(expected)

    # --- edits of the server --------------------------------------------------------------------------------------

    async def actions(self, name: str, where: types.Range, diagnostics=(), only=None, cell: int | None = None):
        """The code actions at a range."""
        context = types.CodeActionContext(diagnostics=list(diagnostics), only=only)
        params = types.CodeActionParams(types.TextDocumentIdentifier(self.uri(name, cell)), where, context)
        return await insist(lambda: self.client.text_document_code_action_async(params)) or []

    async def resolve(self, action: types.CodeAction) -> types.CodeAction:
        """An action with its edit."""
        if action.edit is None and action.data is not None:
            action = await self.client.code_action_resolve_async(action)
        return action

    def apply(self, edit: types.WorkspaceEdit):
        """Applies the edits of an action to what is open, and tells the server."""
        by_uri: dict[str, list[types.TextEdit]] = {uri: list(edits) for uri, edits in (edit.changes or {}).items()}
        for change in edit.document_changes or []:
            by_uri.setdefault(change.text_document.uri, []).extend(change.edits)
        known = self.addresses()
        for uri, edits in by_uri.items():
            name, cell = known[uri]
            text = self.texts[name] if cell is None else self.cells[name][cell - 1][1]
            spans = [(self.offset(text, it.range.start), self.offset(text, it.range.end), it.new_text) for it in edits]
            # From the end, so that offsets stay; of edits at one place the first comes first in the text.
            for start, end, new in reversed(sorted(spans, key=lambda it: (it[0], it[1]))):
                if cell is None:
                    self.replace(name, start, end, new)
                else:
                    self.edit_cell(name, cell, start, end, new)


def seen(diagnostic: types.Diagnostic) -> oracle.Reported:
    """A diagnostic as it is compared."""
    assert diagnostic.source == "keylint"
    start, end = diagnostic.range.start, diagnostic.range.end
    return oracle.Reported(
        (start.line, start.character),
        (end.line, end.character),
        str(diagnostic.code),
        int(diagnostic.severity),
        diagnostic.message,
    )
