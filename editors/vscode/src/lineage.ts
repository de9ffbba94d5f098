/** The command that shows the lineage of keys: its request and its response. */

/** The command, for the palette and for the server alike. */
export const SHOW_LINEAGE = "keylint.showLineage";

/** The position of the cursor in the protocol's terms. */
export interface At {
  readonly uri: string;
  readonly position: { readonly line: number; readonly character: number };
}

/**
 * The arguments of the request for a graph: those of the command (a code action or a lens has its own), or the position of the
 * cursor; undefined if there is neither.
 */
export function lineageArguments(given: readonly unknown[], cursor: At | undefined): unknown[] | undefined {
  // The context menu passes what was clicked on, which is not an argument for the server.
  const place = given.find(isAt) ?? cursor;
  return place === undefined ? undefined : [{ ...place, format: "html" }];
}

function isAt(value: unknown): value is At {
  if (typeof value !== "object" || value === null || !("uri" in value) || !("position" in value)) {
    return false;
  }
  return typeof value.uri === "string";
}

/** The page for the server's response; undefined if there are no keys to show. */
export function lineagePage(answer: unknown): string | undefined {
  return typeof answer === "string" && answer.startsWith("<!DOCTYPE html>") ? answer : undefined;
}
