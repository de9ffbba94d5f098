/**
 * keylint in VS Code: a thin client. It finds and starts the server, passes settings to it and shows its status. Everything
 * about keys is in the server.
 */
import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import { promisify } from "node:util";

import * as vscode from "vscode";
import {
  LanguageClient,
  type LanguageClientOptions,
  RevealOutputChannelOn,
  type ServerOptions,
  State as ClientState,
} from "vscode-languageclient/node";

import { type Binary, expand, type ImportStrategy, resolveBinary, type Surroundings } from "./binary";
import { type At, lineageArguments, lineagePage, SHOW_LINEAGE } from "./lineage";
import { needsRestart, serverSettings, type ServerSettings } from "./settings";
import { parseVersion, type State, statusText } from "./status";

const LINEAGE_VIEW = "keylint.lineage";

let extension: Extension | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  extension = new Extension(context);
  await extension.restart();
}

export async function deactivate(): Promise<void> {
  await extension?.stop();
}

class Extension {
  private readonly output = vscode.window.createOutputChannel("keylint", { log: true });
  private readonly trace = vscode.window.createOutputChannel("keylint trace", { log: true });
  private readonly status = vscode.window.createStatusBarItem("keylint.status", vscode.StatusBarAlignment.Right, 90);
  private lineage: vscode.WebviewPanel | undefined;
  private client: LanguageClient | undefined;
  /** Starts and stops run one after another: a restart waits for the previous one. */
  private queue: Promise<void> = Promise.resolve();

  constructor(private readonly context: vscode.ExtensionContext) {
    this.status.name = "keylint";
    this.status.command = "keylint.showOutput";
    context.subscriptions.push(
      this.output,
      this.trace,
      this.status,
      { dispose: () => this.lineage?.dispose() },
      vscode.commands.registerCommand("keylint.restart", () => this.restart()),
      vscode.commands.registerCommand("keylint.showOutput", () => this.output.show()),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.restart()),
      vscode.workspace.onDidChangeConfiguration(async (change) => {
        // Other settings reach the server by `workspace/didChangeConfiguration`.
        if (needsRestart((setting) => change.affectsConfiguration(setting))) {
          await this.restart();
        }
      }),
    );
  }

  restart(): Promise<void> {
    return this.enqueue(async () => {
      await this.stopNow();
      await this.startNow();
    });
  }

  stop(): Promise<void> {
    return this.enqueue(() => this.stopNow());
  }

  private enqueue(work: () => Promise<void>): Promise<void> {
    this.queue = this.queue.then(work).catch((error: unknown) => {
      this.fail(error instanceof Error ? error.message : String(error));
    });
    return this.queue;
  }

  private async stopNow(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    if (client === undefined) {
      return;
    }
    try {
      await client.dispose();
    } finally {
      this.show({ kind: "stopped" });
    }
  }

  private async startNow(): Promise<void> {
    const settings = vscode.workspace.getConfiguration("keylint");
    // One folder with keylint enabled is enough; the server ignores the others.
    const folders: readonly (vscode.Uri | undefined)[] = vscode.workspace.workspaceFolders?.map(({ uri }) => uri) ?? [undefined];
    if (!folders.some((folder) => vscode.workspace.getConfiguration("keylint", folder).get<boolean>("enable", true))) {
      this.show({ kind: "disabled" });
      return;
    }
    this.show({ kind: "starting" });
    const found = resolveBinary(
      settings.get<string>("path", ""),
      settings.get<ImportStrategy>("importStrategy", "fromEnvironment"),
      await this.surroundings(),
    );
    if ("problem" in found) {
      this.fail(found.problem);
      return;
    }
    const { binary } = found;
    const version = await versionOf(binary);
    this.output.info(`starting ${binary.file} (${binary.origin}), version ${version ?? "unknown"}`);
    const client = this.makeClient(binary);
    this.client = client;
    client.onDidChangeState(({ newState }) => {
      if (this.client !== client) {
        return;
      }
      if (newState === ClientState.Running) {
        this.show({ kind: "running", binary, version });
      } else if (newState === ClientState.Stopped) {
        this.show({ kind: "stopped" });
      }
    });
    await client.start();
  }

  private makeClient(binary: Binary): LanguageClient {
    const run = { command: binary.file, args: ["server"] };
    const server: ServerOptions = { run, debug: run };
    const options: LanguageClientOptions = {
      documentSelector: [
        { scheme: "file", language: "python" },
        { scheme: "untitled", language: "python" },
        { scheme: "vscode-notebook-cell", language: "python" },
      ],
      outputChannel: this.output,
      traceOutputChannel: this.trace,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: { settings: settingsFor(undefined) },
      synchronize: { configurationSection: "keylint" },
      diagnosticPullOptions: { onChange: true, onSave: true },
      middleware: {
        workspace: {
          configuration: async (params, token, next) => {
            const answers = await next(params, token);
            if (!Array.isArray(answers)) {
              return answers;
            }
            return answers.map((answer: unknown, index) => {
              const item = params.items[index];
              const scope = item?.scopeUri === undefined ? undefined : vscode.Uri.parse(item.scopeUri);
              return item?.section === "keylint" ? settingsFor(scope) : answer;
            });
          },
          didChangeConfiguration: async (_sections, next) => {
            // This only says that something changed. The server then requests the settings of each folder, which are mapped above.
            await next(undefined);
          },
        },
        // The client registers the server's commands; this shows their results.
        executeCommand: async (command, args, next) => {
          if (command !== SHOW_LINEAGE) {
            return next(command, args);
          }
          const place = lineageArguments(args, cursor());
          if (place === undefined) {
            void vscode.window.showInformationMessage("keylint: open a Python file first");
            return undefined;
          }
          this.showLineage(await next(command, place));
          return undefined;
        },
      },
    };
    return new LanguageClient("keylint", "keylint", server, options);
  }

  /** Shows a graph of keys beside the editor, replacing an earlier one. */
  private showLineage(answer: unknown): void {
    const page = lineagePage(answer);
    if (page === undefined) {
      void vscode.window.showInformationMessage("keylint: no keys are followed in this function");
      return;
    }
    if (this.lineage === undefined) {
      const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
      this.lineage = vscode.window.createWebviewPanel(LINEAGE_VIEW, "Key lineage", column, { enableScripts: true });
      this.lineage.onDidDispose(() => (this.lineage = undefined));
    }
    this.lineage.webview.html = page;
  }

  private async surroundings(): Promise<Surroundings> {
    return {
      platform: process.platform,
      home: os.homedir(),
      env: process.env,
      workspaceFolder: vscode.workspace.workspaceFolders?.[0]?.uri.fsPath,
      extensionFolder: this.context.extensionPath,
      python: await selectedPython(),
      trusted: vscode.workspace.isTrusted,
      isExecutable,
    };
  }

  private fail(problem: string): void {
    this.output.error(problem);
    this.show({ kind: "failed", problem });
    void vscode.window.showErrorMessage(`keylint: ${problem}`, "Show Output", "Open Settings").then((choice) => {
      if (choice === "Show Output") {
        this.output.show();
      } else if (choice === "Open Settings") {
        void vscode.commands.executeCommand("workbench.action.openSettings", "keylint.");
      }
    });
  }

  private show(state: State): void {
    const { text, tooltip, severity } = statusText(state);
    this.status.text = text;
    const markdown = new vscode.MarkdownString("", true);
    markdown.isTrusted = { enabledCommands: ["keylint.restart", "keylint.showOutput"] };
    markdown.appendText(tooltip);
    markdown.appendMarkdown("\n\n[Restart](command:keylint.restart) · [Output](command:keylint.showOutput)");
    this.status.tooltip = markdown;
    this.status.backgroundColor =
      severity === "none" ? undefined : new vscode.ThemeColor(`statusBarItem.${severity}Background`);
    this.status.show();
    void vscode.commands.executeCommand("setContext", "keylint.running", state.kind === "running");
  }
}

function settingsFor(scope: vscode.Uri | undefined): ServerSettings {
  const settings = vscode.workspace.getConfiguration("keylint", scope);
  const folder = scope === undefined ? vscode.workspace.workspaceFolders?.[0] : vscode.workspace.getWorkspaceFolder(scope);
  const around = { home: os.homedir(), env: process.env, workspaceFolder: folder?.uri.fsPath };
  return serverSettings(
    (name) => settings.get(name),
    (text) => expand(text, around),
  );
}

function cursor(): At | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || editor.document.languageId !== "python") {
    return undefined;
  }
  const { line, character } = editor.selection.active;
  return { uri: editor.document.uri.toString(), position: { line, character } };
}

/** The interpreter that the Python extension has selected, if that is installed. */
async function selectedPython(): Promise<string | undefined> {
  interface PythonApi {
    readonly environments?: { getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string } };
  }
  const python = vscode.extensions.getExtension<PythonApi>("ms-python.python");
  if (python === undefined) {
    return undefined;
  }
  try {
    const api = python.isActive ? python.exports : await python.activate();
    return api.environments?.getActiveEnvironmentPath(vscode.workspace.workspaceFolders?.[0]?.uri).path;
  } catch {
    // Without a result, the search continues elsewhere.
    return undefined;
  }
}

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

async function versionOf(binary: Binary): Promise<string | undefined> {
  const { stdout } = await promisify(execFile)(binary.file, ["--version"], { timeout: 10_000 });
  return parseVersion(stdout);
}
