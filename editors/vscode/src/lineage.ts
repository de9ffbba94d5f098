/** The command that shows the lineage of keys: what is sent to the server, and what its answer means. */

/** The command, for the palette and for the server alike. */
export const SHOW_LINEAGE = "keylint.showLineage";

/** Where the cursor is, as the protocol says it. */
export interface At {
  readonly uri: string;
  readonly position: { readonly line: number; readonly character: number };
}

/**
 * The arguments of the request for a picture: those that came with the command (a code action or a lens brings its own), else the
 * place of the cursor; nothing if there is neither.
 */
export function lineageArguments(given: readonly unknown[], cursor: At | undefined): unknown[] | undefined {
  // The context menu hands over what was clicked on, which is no argument for the server.
  const place = given.find(isAt) ?? cursor;
  return place === undefined ? undefined : [{ ...place, format: "html" }];
}

function isAt(value: unknown): value is At {
  if (typeof value !== "object" || value === null || !("uri" in value) || !("position" in value)) {
    return false;
  }
  return typeof value.uri === "string";
}

/** The page to show for the server's answer; undefined where there are no keys to show. */
export function lineagePage(answer: unknown): string | undefined {
  return typeof answer === "string" && answer.startsWith("<!DOCTYPE html>") ? answer : undefined;
}
