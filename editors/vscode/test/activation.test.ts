/** The bundled extension, started as VS Code starts it; with a server where `KEYLINT` names one. */
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import test from "node:test";

import { loadWith, makeVscode, type Window } from "./stub";

const folder = path.join(__dirname, "..", "..");
const bundle = path.join(folder, "dist", "extension.js");
const project = fs.mkdtempSync(path.join(os.tmpdir(), "keylint-"));
const keylint = process.env["KEYLINT"];

// Rows from 0; the cursor of the stub is in row 5.
const TRAIN = `import jax


def init(key):
    a = jax.random.normal(key)
    return a, jax.random.normal(key)
`;
fs.writeFileSync(path.join(project, "train.py"), TRAIN);
test.after(() => fs.rmSync(project, { recursive: true }));

/** Waits until something holds. */
async function until(holds: () => boolean): Promise<void> {
  const end = Date.now() + 10_000;
  while (!holds() && Date.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function activate(settings: Readonly<Record<string, unknown>>): Promise<{ window: Window; stop(): Promise<void> }> {
  const { vscode, window } = makeVscode(project, settings);
  const extension = loadWith(vscode, bundle);
  await extension.activate({ subscriptions: [], extensionPath: folder });
  return { window, stop: () => extension.deactivate() };
}

const unbuilt = fs.existsSync(bundle) ? false : "the extension is not compiled";

test("a wrong path is reported, and the commands stay", { skip: unbuilt }, async () => {
  const { window, stop } = await activate({ path: "/gone/keylint" });
  assert.match(window.errors[0] ?? "", /keylint\.path names \/gone\/keylint/);
  assert.match(window.status.text, /error/);
  assert.equal(window.contexts.get("keylint.running"), false);
  assert.ok(window.commands.has("keylint.restart") && window.commands.has("keylint.showOutput"));
  await stop();
});

test("nothing is started where nothing is wanted", { skip: unbuilt }, async () => {
  const { window, stop } = await activate({ enable: false, path: "/gone/keylint" });
  assert.deepEqual(window.errors, []);
  assert.match(window.status.tooltip.value, /switched off/);
  await stop();
});

test("a program that is not keylint is reported", { skip: unbuilt }, async () => {
  const { window, stop } = await activate({ path: "/bin/false" });
  assert.equal(window.errors.length, 1);
  assert.equal(window.contexts.get("keylint.running"), false);
  await stop();
});

test("the server runs, restarts and ends", { skip: unbuilt || (keylint ? false : "KEYLINT names no server") }, async () => {
  const { window, stop } = await activate({ path: keylint });
  assert.deepEqual(window.errors, []);
  assert.equal(window.contexts.get("keylint.running"), true, window.log.join("\n"));
  assert.match(window.status.tooltip.value, /keylint \d+\.\d+\.\d+.*setting/);
  // The client registers the command of the server, with what shows its answer.
  assert.ok(window.commands.has("keylint.showLineage"));

  await until(() => [...window.codes.values()].some((codes) => codes.length > 0));
  assert.match(JSON.stringify([...window.codes.values()]), /KEY101/);
  await window.commands.get("keylint.showLineage")?.();
  assert.deepEqual(window.information, []);
  assert.match(window.shown.join(), /^<!DOCTYPE html>[^]*init/);

  await window.commands.get("keylint.restart")?.();
  assert.equal(window.contexts.get("keylint.running"), true);
  assert.ok(window.commands.has("keylint.showLineage"));
  await stop();
  assert.equal(window.contexts.get("keylint.running"), false);
  assert.ok(!window.commands.has("keylint.showLineage"));
  assert.deepEqual(window.errors, []);
});
