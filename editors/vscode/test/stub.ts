/**
 * As much of VS Code as the extension and its client touch when they start. What is named here behaves; everything else answers
 * with something that can be called, constructed and looked into, and does nothing.
 */
import * as fs from "node:fs";
import Module from "node:module";
import * as path from "node:path";
import { pathToFileURL } from "node:url";

type Callback = (...args: unknown[]) => unknown;

/** What is in a window, as far as tests look at it. */
export interface Window {
  /** The codes of diagnostics by address. */
  readonly codes: Map<string, readonly unknown[]>;
  readonly commands: Map<string, Callback>;
  readonly contexts: Map<string, unknown>;
  readonly errors: string[];
  readonly information: string[];
  readonly log: string[];
  readonly shown: string[];
  readonly status: { text: string; tooltip: { value: string } };
}

/** A module `vscode` for a window with some settings and one folder, whose `train.py` is open; and that window. */
export function makeVscode(folder: string, settings: Readonly<Record<string, unknown>>): { vscode: object; window: Window } {
  const window: Window = {
    codes: new Map(),
    commands: new Map(),
    contexts: new Map(),
    errors: [],
    information: [],
    log: [],
    shown: [],
    status: { text: "", tooltip: { value: "" } },
  };
  const channel = () => {
    const write = (...parts: unknown[]) => window.log.push(parts.join(" "));
    const methods = { append: write, appendLine: write, info: write, error: write, warn: write, debug: write, trace: write };
    return { ...methods, clear() {}, show() {}, dispose() {}, logLevel: 2, onDidChangeLogLevel: () => nothing };
  };
  const uri = Uri.file(folder);
  const fileName = path.join(folder, "train.py");
  const getText = () => fs.readFileSync(fileName, "utf8");
  const document = { uri: Uri.file(fileName), languageId: "python", version: 1, isClosed: false, fileName, getText };
  const known: Record<string, unknown> = {
    version: "1.99.0",
    CancellationTokenSource: class {
      private readonly callbacks: Callback[] = [];
      readonly token = {
        isCancellationRequested: false,
        onCancellationRequested: (callback: Callback) => {
          this.callbacks.push(callback);
          return nothing;
        },
      };
      cancel() {
        this.token.isCancellationRequested = true;
        this.callbacks.forEach((callback) => callback());
      }
      dispose() {}
    },
    Disposable: class {
      static from(...all: { dispose(): unknown }[]) {
        return { dispose: () => all.forEach((one) => one.dispose()) };
      }
      constructor(private readonly callback: Callback) {}
      dispose() {
        this.callback();
      }
    },
    StatusBarAlignment: { Left: 1, Right: 2 },
    ViewColumn: { Beside: -2 },
    Uri,
    MarkdownString: class {
      value = "";
      isTrusted: unknown = false;
      appendText(text: string) {
        this.value += text;
      }
      appendMarkdown(text: string) {
        this.value += text;
      }
    },
    EventEmitter: class {
      private readonly callbacks: Callback[] = [];
      readonly event = (callback: Callback) => {
        this.callbacks.push(callback);
        return nothing;
      };
      fire(value: unknown) {
        this.callbacks.forEach((callback) => callback(value));
      }
      dispose() {}
    },
    languages: anything("vscode.languages", {
      match: () => 10,
      createDiagnosticCollection: () => ({
        set: (of: object, diagnostics?: readonly { readonly code?: unknown }[]) =>
          window.codes.set(String(of), (diagnostics ?? []).map(({ code }) => code)),
        delete: (of: object) => window.codes.delete(String(of)),
        clear: () => window.codes.clear(),
        dispose() {},
      }),
    }),
    extensions: { getExtension: () => undefined, all: [], onDidChange: () => nothing },
    commands: {
      registerCommand: (name: string, run: Callback) => {
        if (window.commands.has(name)) {
          throw new Error(`command '${name}' already exists`);
        }
        window.commands.set(name, run);
        return { dispose: () => window.commands.delete(name) };
      },
      executeCommand: async (name: string, key: string, value: unknown) => {
        if (name === "setContext") {
          window.contexts.set(key, value);
        }
      },
    },
    window: anything("vscode.window", {
      activeTextEditor: { document, selection: { active: { line: 5, character: 4 } } },
      createOutputChannel: channel,
      createStatusBarItem: () => Object.assign(window.status, { show() {}, hide() {}, dispose() {} }),
      showErrorMessage: async (text: string) => void window.errors.push(text),
      showInformationMessage: async (text: string) => void window.information.push(text),
      createWebviewPanel: () => {
        const webview = {
          set html(page: string) {
            window.shown.push(page);
          },
        };
        return { webview, onDidDispose: () => nothing, dispose() {} };
      },
      tabGroups: { all: [], onDidChangeTabs: () => nothing, onDidChangeTabGroups: () => nothing },
      visibleTextEditors: [],
      visibleNotebookEditors: [],
    }),
    workspace: anything("vscode.workspace", {
      isTrusted: true,
      workspaceFolders: [{ uri, name: "project", index: 0 }],
      getWorkspaceFolder: () => ({ uri, name: "project", index: 0 }),
      textDocuments: [document],
      notebookDocuments: [],
      getConfiguration: () => ({ get: (name: string, usual: unknown) => settings[name] ?? usual }),
    }),
  };
  // Bundlers copy a module's own members, and take over its prototype.
  return { vscode: Object.create(anything("vscode", known)) as object, window };
}

class Uri {
  static file(file: string): Uri {
    return new Uri(pathToFileURL(file).toString());
  }

  static parse(text: string): Uri {
    return new Uri(text);
  }

  readonly scheme: string;
  readonly path: string;
  readonly fsPath: string;
  readonly authority = "";
  readonly query = "";
  readonly fragment = "";

  private constructor(private readonly text: string) {
    const url = new URL(text);
    this.scheme = url.protocol.slice(0, -1);
    this.path = decodeURIComponent(url.pathname);
    this.fsPath = this.path;
  }

  toString(): string {
    return this.text;
  }
}

const nothing = { dispose() {} };

/** Something that has these members, and any other that is asked for. */
function anything(name: string, known: Readonly<Record<string, unknown>> = {}): object {
  const members = new Map<PropertyKey, unknown>(Object.entries(known));
  return new Proxy(function () {}, {
    get(target, member) {
      if (member === "then" || member === "length") {
        return undefined;
      }
      if (member === "prototype") {
        return target.prototype;
      }
      if (member === Symbol.toPrimitive) {
        return () => name;
      }
      if (!members.has(member)) {
        members.set(member, anything(`${name}.${String(member)}`));
      }
      return members.get(member);
    },
    apply: () => anything(`${name}()`, { dispose() {} }),
    construct: (_target, _args, of) => Object.create((of as { prototype: object }).prototype) as object,
  });
}

/** Loads a file whose `require("vscode")` gives this module. */
export function loadWith(vscode: object, file: string): { activate(context: object): Promise<void>; deactivate(): Promise<void> } {
  const loader = Module as unknown as { _load(request: string, ...rest: unknown[]): unknown };
  const usual = loader._load;
  loader._load = (request, ...rest) => (request === "vscode" ? vscode : usual.call(loader, request, ...rest));
  try {
    delete require.cache[require.resolve(file)];
    return require(file) as ReturnType<typeof loadWith>;
  } finally {
    loader._load = usual;
  }
}
