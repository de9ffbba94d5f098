/**
 * Finds the keylint executable to start.
 *
 * Nothing here depends on the editor: the disk, the environment and the selected Python are passed in as `Surroundings`,
 * so that the order of the search can be tested.
 */
import * as path from "node:path";

/** The place to search first if no path is set. */
export type ImportStrategy = "fromEnvironment" | "useBundled";

/** What the search depends on. */
export interface Surroundings {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The value of `${workspaceFolder}`. */
  readonly workspaceFolder: string | undefined;
  /** The folder that the extension is installed in. */
  readonly extensionFolder: string;
  /** The Python executable, or the folder of the environment, that is selected. */
  readonly python: string | undefined;
  /** Whether the workspace may name what is run. */
  readonly trusted: boolean;
  /** Whether there is an executable file. */
  isExecutable(file: string): boolean;
}

/** How an executable was found, as shown in the status item. */
export type Origin = "setting" | "environment" | "PATH" | "bundled";

/** An executable. */
export interface Binary {
  readonly file: string;
  readonly origin: Origin;
}

/** The result of the search: an executable, or a message for the user. */
export type Resolution = { readonly binary: Binary } | { readonly problem: string };

/** Finds the executable. A wrong path in the settings is reported, never replaced by another keylint. */
export function resolveBinary(setting: string, strategy: ImportStrategy, around: Surroundings): Resolution {
  if (setting.trim() !== "" && around.trusted) {
    const file = expand(setting.trim(), around);
    return around.isExecutable(file)
      ? { binary: { file, origin: "setting" } }
      : { problem: `the setting keylint.path names ${file}, which is no executable file` };
  }
  const environment = around.trusted ? fromEnvironment(around) : undefined;
  const onPath = fromPath(around);
  const bundled = fromExtension(around);
  const order =
    strategy === "useBundled" ? [bundled, environment, onPath] : [environment, onPath, bundled];
  const binary = order.find((candidate) => candidate !== undefined);
  return binary !== undefined
    ? { binary }
    : { problem: "no keylint was found: install it (pip install keylint), or set keylint.path" };
}

/** Replaces `~`, `${workspaceFolder}`, `${userHome}` and `${env:NAME}`. */
export function expand(text: string, around: Pick<Surroundings, "home" | "env" | "workspaceFolder">): string {
  const replaced = text.replace(/\$\{([^}]*)\}/g, (whole, name: string) => {
    if (name === "userHome") {
      return around.home;
    }
    if (name === "workspaceFolder") {
      return around.workspaceFolder ?? whole;
    }
    return name.startsWith("env:") ? (around.env[name.slice("env:".length)] ?? "") : whole;
  });
  return /^~(?=$|[/\\])/.test(replaced) ? around.home + replaced.slice(1) : replaced;
}

function executableName(platform: NodeJS.Platform): string {
  return platform === "win32" ? "keylint.exe" : "keylint";
}

/** The executable next to the interpreter, or in the environment if that was given instead. */
function fromEnvironment(around: Surroundings): Binary | undefined {
  if (around.python === undefined || around.python === "") {
    return undefined;
  }
  const api = around.platform === "win32" ? path.win32 : path.posix;
  const name = executableName(around.platform);
  const scripts = around.platform === "win32" ? "Scripts" : "bin";
  const beside = api.join(api.dirname(around.python), name);
  const inside = api.join(around.python, scripts, name);
  const below = api.join(api.dirname(around.python), scripts, name);
  const file = [beside, inside, below].find((candidate) => around.isExecutable(candidate));
  return file === undefined ? undefined : { file, origin: "environment" };
}

function fromPath(around: Surroundings): Binary | undefined {
  const api = around.platform === "win32" ? path.win32 : path.posix;
  const folders = (around.env["PATH"] ?? around.env["Path"] ?? "").split(api.delimiter);
  const file = folders
    // A relative folder would be looked up in whatever directory the editor runs in.
    .filter((folder) => api.isAbsolute(folder))
    .map((folder) => api.join(folder, executableName(around.platform)))
    .find((candidate) => around.isExecutable(candidate));
  return file === undefined ? undefined : { file, origin: "PATH" };
}

function fromExtension(around: Surroundings): Binary | undefined {
  const api = around.platform === "win32" ? path.win32 : path.posix;
  const file = api.join(around.extensionFolder, "bundled", executableName(around.platform));
  return around.isExecutable(file) ? { file, origin: "bundled" } : undefined;
}
