import assert from "node:assert/strict";
import test from "node:test";

import { lineageArguments, lineagePage } from "../src/lineage";
import { parseVersion, statusText } from "../src/status";

test("the status tells which keylint runs", () => {
  const text = statusText({
    kind: "running",
    binary: { file: "/usr/bin/keylint", origin: "PATH" },
    version: "0.1.0",
  });
  assert.equal(text.tooltip, "keylint 0.1.0, /usr/bin/keylint (PATH)");
  assert.equal(text.severity, "none");
});

test("what went wrong is the tooltip", () => {
  assert.deepEqual(statusText({ kind: "failed", problem: "no keylint was found" }), {
    text: "$(error) keylint",
    tooltip: "no keylint was found",
    severity: "error",
  });
  assert.equal(statusText({ kind: "stopped" }).severity, "warning");
  assert.equal(statusText({ kind: "disabled" }).severity, "none");
  assert.match(statusText({ kind: "starting" }).text, /spin/);
});

test("the version is read from what keylint prints", () => {
  assert.equal(parseVersion("keylint 0.1.0\n"), "0.1.0");
  assert.equal(parseVersion("keylint 1.2.3-rc.1 (abc)\n"), "1.2.3-rc.1");
  assert.equal(parseVersion("something else"), undefined);
});

test("the lineage is asked for where the cursor is, or where a code action says", () => {
  const cursor = { uri: "file:///a.py", position: { line: 1, character: 2 } };
  const given = { uri: "file:///b.py", position: { line: 3, character: 4 } };
  const page = (place: object) => [{ ...place, format: "html" }];
  assert.deepEqual(lineageArguments([], cursor), page(cursor));
  assert.deepEqual(lineageArguments([given], cursor), page(given));
  // What the context menu hands over.
  assert.deepEqual(lineageArguments([{ $mid: 1, path: "/a.py" }, undefined], cursor), page(cursor));
  assert.equal(lineageArguments([], undefined), undefined);
});

test("only a page is shown", () => {
  assert.equal(lineagePage("<!DOCTYPE html>\n<html>"), "<!DOCTYPE html>\n<html>");
  for (const nothing of [null, undefined, "", "No known keys here.\n", 3]) {
    assert.equal(lineagePage(nothing), undefined);
  }
});
