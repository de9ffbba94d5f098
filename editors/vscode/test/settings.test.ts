import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import test from "node:test";

import { CLIENT_SETTINGS, needsRestart, SERVER_SETTINGS, serverSettings } from "../src/settings";

const folder = path.join(__dirname, "..", "..");

interface Property {
  readonly type: string | readonly string[];
  readonly default: unknown;
  readonly enum?: readonly unknown[];
  readonly scope?: string;
}

const manifest = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8")) as {
  readonly contributes: { readonly configuration: { readonly properties: Readonly<Record<string, Property>> } };
};
const properties = manifest.contributes.configuration.properties;

function mapped(values: Readonly<Record<string, unknown>>): object {
  return serverSettings(
    (name) => values[name],
    (text) => text.replace("~", "/home/ada"),
  );
}

test("the manifest declares exactly the settings that are known", () => {
  const known = [...SERVER_SETTINGS, ...CLIENT_SETTINGS].map((name) => `keylint.${name}`);
  assert.deepEqual(Object.keys(properties).sort(), known.sort());
});

/** All settings, those that are not among `values` as what is not set. */
function all(values: object): object {
  return { ...Object.fromEntries(SERVER_SETTINGS.map((name) => [name, null])), ...values };
}

test("what is not set is sent as such", () => {
  const defaults = Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name.slice("keylint.".length), property.default]),
  );
  const usual = { enable: true, verify: true, unsafeFixes: false, inlayHints: false, ignoreReason: "intended" };
  assert.deepEqual(mapped(defaults), all(usual));
});

test("settings go to the server as they are, paths with their variables replaced", () => {
  const values = {
    configuration: "~/keylint.toml",
    select: ["KEY1"],
    ignore: [],
    minLevel: "note",
    unsafeFixes: true,
    path: "/usr/bin/keylint",
  };
  const { path: _, ...sent } = { ...values, configuration: "/home/ada/keylint.toml" };
  assert.deepEqual(mapped(values), all(sent));
  const options = { "jax-version": "0.4.35" };
  assert.deepEqual(mapped({ configuration: options }), all({ configuration: options }));
});

test("levels and confidences are those of the configuration file's schema", (context) => {
  const file = path.join(folder, "..", "..", "keylint.schema.json");
  if (!fs.existsSync(file)) {
    context.skip("the extension stands alone here");
    return;
  }
  const schema = JSON.parse(fs.readFileSync(file, "utf8")) as {
    readonly $defs: Readonly<Record<"Level" | "Confidence", { readonly enum: readonly string[] }>>;
    readonly properties: Readonly<Record<string, unknown>>;
  };
  assert.deepEqual(properties["keylint.minLevel"]?.enum, [...schema.$defs.Level.enum, null]);
  assert.deepEqual(properties["keylint.minConfidence"]?.enum, [...schema.$defs.Confidence.enum, null]);
  const ownToEditors = ["enable", "configuration", "verify", "unsafeFixes", "inlayHints", "ignoreReason"];
  for (const name of SERVER_SETTINGS.filter((setting) => !ownToEditors.includes(setting))) {
    const option = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    assert.ok(option in schema.properties, `${name} is no option of the configuration file`);
  }
});

test("what names a program cannot be set for one folder of many", () => {
  for (const name of ["keylint.path", "keylint.importStrategy"]) {
    assert.notEqual(properties[name]?.scope, "resource");
  }
});

test("only what concerns the process restarts it", () => {
  assert.ok(needsRestart((name) => name === "keylint.path"));
  assert.ok(needsRestart((name) => name === "keylint.enable"));
  assert.ok(!needsRestart((name) => name === "keylint.select"));
});
