/**
 * From the editor's settings to those that the server takes.
 *
 * The names are the same; what only concerns the client stays here, and what is not set is sent as `null`, so that it is
 * no longer in force where it was, and the configuration file of the project decides.
 */

/** The settings that the server takes: those of `keylint.*` that are about findings, fixes and hints. */
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

/** The settings that say which server is started and how it is watched. */
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
