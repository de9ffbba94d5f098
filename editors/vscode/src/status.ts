/** The content of the status item, as plain data. */
import type { Binary } from "./binary";

/** The state of the server. */
export type State =
  | { readonly kind: "starting" }
  | { readonly kind: "running"; readonly binary: Binary; readonly version: string | undefined }
  | { readonly kind: "stopped" }
  | { readonly kind: "disabled" }
  | { readonly kind: "failed"; readonly problem: string };

/** The parts of a status item. */
export interface StatusText {
  readonly text: string;
  readonly tooltip: string;
  readonly severity: "none" | "warning" | "error";
}

export function statusText(state: State): StatusText {
  switch (state.kind) {
    case "starting":
      return { text: "$(sync~spin) keylint", tooltip: "keylint is starting", severity: "none" };
    case "running": {
      const version = state.version === undefined ? "" : ` ${state.version}`;
      const { file, origin } = state.binary;
      return { text: "$(key) keylint", tooltip: `keylint${version}, ${file} (${origin})`, severity: "none" };
    }
    case "stopped":
      return { text: "$(key) keylint", tooltip: "keylint has stopped", severity: "warning" };
    case "disabled":
      return { text: "$(circle-slash) keylint", tooltip: "keylint is switched off (keylint.enable)", severity: "none" };
    case "failed":
      return { text: "$(error) keylint", tooltip: state.problem, severity: "error" };
  }
}

/** The version in what `keylint --version` prints. */
export function parseVersion(output: string): string | undefined {
  return /^keylint (\d+\.\d+\.\d+\S*)/m.exec(output)?.[1];
}
