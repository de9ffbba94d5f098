import assert from "node:assert/strict";
import test from "node:test";

import { expand, resolveBinary, type Surroundings } from "../src/binary";

/** Surroundings in which exactly the files named are executable. */
function around(files: readonly string[], more: Partial<Surroundings> = {}): Surroundings {
  return {
    platform: "linux",
    home: "/home/ada",
    env: { PATH: "/usr/local/bin:/usr/bin" },
    workspaceFolder: "/work/project",
    extensionFolder: "/ext",
    python: undefined,
    trusted: true,
    isExecutable: (file) => files.includes(file),
    ...more,
  };
}

const EVERYWHERE = ["/venv/bin/keylint", "/usr/bin/keylint", "/ext/bundled/keylint"];

test("a path that is set wins over everything", () => {
  const found = resolveBinary("~/bin/keylint", "fromEnvironment", around(["/home/ada/bin/keylint", ...EVERYWHERE]));
  assert.deepEqual(found, { binary: { file: "/home/ada/bin/keylint", origin: "setting" } });
});

test("a wrong path in the settings is reported, whatever else is installed", () => {
  const found = resolveBinary("${workspaceFolder}/gone", "fromEnvironment", around(EVERYWHERE));
  assert.deepEqual(found, { problem: "the setting keylint.path names /work/project/gone, which is no executable file" });
});

test("the environment comes before the PATH, and that before the bundled one", () => {
  const python = "/venv/bin/python";
  const search = (files: readonly string[]) => resolveBinary("", "fromEnvironment", around(files, { python }));
  assert.deepEqual(search(EVERYWHERE), { binary: { file: "/venv/bin/keylint", origin: "environment" } });
  assert.deepEqual(search(EVERYWHERE.slice(1)), { binary: { file: "/usr/bin/keylint", origin: "PATH" } });
  assert.deepEqual(search(EVERYWHERE.slice(2)), { binary: { file: "/ext/bundled/keylint", origin: "bundled" } });
});

test("useBundled takes the bundled one first, and does without", () => {
  const search = (files: readonly string[]) => resolveBinary("", "useBundled", around(files));
  assert.deepEqual(search(EVERYWHERE), { binary: { file: "/ext/bundled/keylint", origin: "bundled" } });
  assert.deepEqual(search(["/usr/bin/keylint"]), { binary: { file: "/usr/bin/keylint", origin: "PATH" } });
});

test("the environment may be given as its folder", () => {
  const found = resolveBinary("", "fromEnvironment", around(EVERYWHERE, { python: "/venv" }));
  assert.deepEqual(found, { binary: { file: "/venv/bin/keylint", origin: "environment" } });
});

test("a workspace that is not trusted names nothing that is run", () => {
  const files = ["/work/project/keylint", ...EVERYWHERE];
  const found = resolveBinary(
    "/work/project/keylint",
    "fromEnvironment",
    around(files, { trusted: false, python: "/venv/bin/python" }),
  );
  assert.deepEqual(found, { binary: { file: "/usr/bin/keylint", origin: "PATH" } });
});

test("relative folders of the PATH are passed over", () => {
  const found = resolveBinary("", "fromEnvironment", around(["keylint", "./keylint"], { env: { PATH: ":." } }));
  assert.ok("problem" in found);
});

test("where there is none, it says what to do", () => {
  const found = resolveBinary("", "fromEnvironment", around([]));
  assert.ok("problem" in found);
  assert.match(found.problem, /pip install keylint/);
});

test("on Windows names, separators and folders are those of Windows", () => {
  const windows: Partial<Surroundings> = {
    platform: "win32",
    env: { Path: "C:\\tools;D:\\more" },
    extensionFolder: "C:\\ext",
    python: "C:\\venv\\python.exe",
  };
  const search = (file: string) => resolveBinary("", "fromEnvironment", around([file], windows));
  assert.deepEqual(search("D:\\more\\keylint.exe"), { binary: { file: "D:\\more\\keylint.exe", origin: "PATH" } });
  assert.deepEqual(search("C:\\venv\\Scripts\\keylint.exe"), {
    binary: { file: "C:\\venv\\Scripts\\keylint.exe", origin: "environment" },
  });
  assert.deepEqual(search("C:\\ext\\bundled\\keylint.exe"), {
    binary: { file: "C:\\ext\\bundled\\keylint.exe", origin: "bundled" },
  });
});

test("variables are replaced, unknown ones stay", () => {
  const here = { home: "/home/ada", env: { TOOLS: "/opt/tools" }, workspaceFolder: "/work/project" };
  assert.equal(expand("${userHome}/a", here), "/home/ada/a");
  assert.equal(expand("${workspaceFolder}/keylint.toml", here), "/work/project/keylint.toml");
  assert.equal(expand("${env:TOOLS}/keylint${env:NONE}", here), "/opt/tools/keylint");
  assert.equal(expand("~", here), "/home/ada");
  assert.equal(expand("~ada/x/~", here), "~ada/x/~");
  assert.equal(expand("${other}/x", here), "${other}/x");
  assert.equal(expand("${workspaceFolder}", { ...here, workspaceFolder: undefined }), "${workspaceFolder}");
});
