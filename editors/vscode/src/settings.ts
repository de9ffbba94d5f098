/**
 * Maps the editor's settings to those of the server.
 *
 * The names are the same. Settings for the client alone are not sent. Unset settings are sent as `null`, so that an earlier
 * value no longer applies and the project's configuration file decides.
 */

/** The settings of the server: those of `keylint.*` about findings, fixes and hints. */
export const SERVER_SETTINGS = [
  "enable",
  "configuration",
  "select",
  "extendSelect",
  "ignore",
  "minLevel",
  "minConfidence",
  "exclude",
  "verify",
  "unsafeFixes",
  "inlayHints",
  "ignoreReason",
] as const;

/** The settings about which server is started and how it is traced. */
export const CLIENT_SETTINGS = ["path", "importStrategy", "trace.server"] as const;

export type ServerSettings = Partial<Record<(typeof SERVER_SETTINGS)[number], unknown>>;

/**
 * The settings for the server. `get` reads one setting of the section `keylint`; `expandPath` replaces the variables of a
 * path.
 */
export function serverSettings(
  get: (name: string) => unknown,
  expandPath: (text: string) => string,
): ServerSettings {
  const settings: ServerSettings = {};
  for (const name of SERVER_SETTINGS) {
    const value = get(name);
    if (value === undefined || value === "") {
      settings[name] = null;
      continue;
    }
    settings[name] = name === "configuration" && typeof value === "string" ? expandPath(value) : value;
  }
  return settings;
}

/** Whether a change of settings needs another process, given which settings it affects. */
export function needsRestart(affects: (setting: string) => boolean): boolean {
  return ["enable", "path", "importStrategy"].some((name) => affects(`keylint.${name}`));
}
