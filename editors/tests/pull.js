// What test_node.py has the libraries of VS Code do, without VS Code: pulls diagnostics of a document and of the workspace.
//
//   node pull.js KEYLINT PROJECT NAME…
//
// Prints the diagnostics as JSON; ends with the exit status of the server.
"use strict";
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { pathToFileURL } = require("node:url");
const rpc = require("vscode-jsonrpc/node");
const lsp = require("vscode-languageserver-protocol");

// Asks again if the server replies that the document has just changed, as VS Code does.
async function insist(ask) {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (error.code !== -32802 || !error.data?.retriggerRequest) {
        throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

async function main(keylint, project, names) {
  const server = spawn(keylint, ["server"], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((resolve) => server.on("exit", resolve));
  const connection = rpc.createMessageConnection(
    new rpc.StreamMessageReader(server.stdout),
    new rpc.StreamMessageWriter(server.stdin),
  );
  let pushed = 0;
  connection.onNotification(lsp.PublishDiagnosticsNotification.type, () => pushed++);
  connection.onRequest(lsp.RegistrationRequest.type, () => null);
  connection.onRequest(lsp.ConfigurationRequest.type, ({ items }) => items.map(() => ({})));
  connection.onRequest(lsp.DiagnosticRefreshRequest.type, () => null);
  connection.onRequest(lsp.WorkDoneProgressCreateRequest.type, () => null);
  connection.listen();

  const uri = pathToFileURL(project).toString();
  const { capabilities, serverInfo } = await connection.sendRequest(lsp.InitializeRequest.type, {
    processId: process.pid,
    rootUri: uri,
    workspaceFolders: [{ uri, name: "project" }],
    capabilities: {
      general: { positionEncodings: ["utf-16"] },
      textDocument: { diagnostic: { relatedDocumentSupport: true } },
      workspace: { configuration: true, diagnostics: { refreshSupport: true }, workspaceFolders: true },
      window: { workDoneProgress: true },
    },
  });
  await connection.sendNotification(lsp.InitializedNotification.type, {});

  const documents = {};
  const unchanged = {};
  for (const name of names) {
    const file = path.join(project, name);
    const textDocument = { uri: pathToFileURL(file).toString(), languageId: "python", version: 1 };
    const text = fs.readFileSync(file, "utf8");
    await connection.sendNotification(lsp.DidOpenTextDocumentNotification.type, { textDocument: { ...textDocument, text } });
    const report = await insist(() => connection.sendRequest(lsp.DocumentDiagnosticRequest.type, { textDocument }));
    documents[name] = report.items;
    if (report.resultId !== undefined) {
      const params = { textDocument, previousResultId: report.resultId };
      unchanged[name] = (await insist(() => connection.sendRequest(lsp.DocumentDiagnosticRequest.type, params))).kind;
    }
  }

  // Streamed, as VS Code asks for it.
  const streamed = [];
  const partialResultToken = "workspace";
  connection.onProgress(lsp.WorkspaceDiagnosticRequest.partialResult, partialResultToken, ({ items }) => streamed.push(...items));
  const whole = await connection.sendRequest(lsp.WorkspaceDiagnosticRequest.type, { previousResultIds: [] });
  const stream = await connection.sendRequest(lsp.WorkspaceDiagnosticRequest.type, {
    previousResultIds: [],
    partialResultToken,
  });
  streamed.push(...stream.items);

  await connection.sendRequest(lsp.ShutdownRequest.type);
  await connection.sendNotification(lsp.ExitNotification.type);
  const status = await ended;
  connection.dispose();
  const provider = capabilities.diagnosticProvider;
  console.log(JSON.stringify({ serverInfo, provider, documents, unchanged, whole: whole.items, streamed, pushed, status }));
  process.exitCode = status ?? 1;
}

const [keylint, project, ...names] = process.argv.slice(2);
main(keylint, project, names).catch((error) => {
  console.error(error);
  process.exit(3);
});
