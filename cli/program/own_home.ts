/**
 * Under which HOME this program runs, and how it is hidden from Deno.
 *
 * Deno reads ~/.npmrc at every start, also where nothing may be fetched, and a line that it cannot resolve ends it before the
 * program runs. So every start of this program (.ci/launcher, .ci/packed_header, `selfCommand`) gives Deno a HOME without that file
 * and the user's own in IOTA_HOME, which is put back here, before anything asks for it: graphics drivers and other programs read it too.
 */

const variable = "IOTA_HOME";

/** Puts the user's HOME back, and leaves IOTA_HOME set for the processes that this one starts of itself. */
export function restoreHome(env: Pick<Deno.Env, "get" | "set" | "delete"> = Deno.env): void {
  const home = env.get(variable);
  if (home === undefined) env.set(variable, env.get("HOME") ?? "");
  else if (home === "") env.delete("HOME");
  else env.set("HOME", home);
}

/** The variables for a start of Deno: `folder` holds no .npmrc; `home`: where IOTA_HOME is not inherited. */
export function hiddenHome(folder: string, home?: string): Record<string, string> {
  return { HOME: folder, ...(home === undefined ? {} : { [variable]: home }) };
}
