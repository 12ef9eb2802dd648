/** `~` at the beginning of a path, as in a file or within quotes, where no shell replaces it. */

import { type Environment, homeFolder } from "./paths.ts";

/** `~/x` lies in the user's home folder. Another user's home, `~name/x`, stays as it is. */
export function expandHome(path: string, environment: Environment): string {
  return path === "~" || path.startsWith("~/") ? `${homeFolder(environment)}${path.slice(1)}` : path;
}
