/** What a process hands a child that may write into the run's folder beside it (cli/files/folder_lock.ts). */

import type { Environment } from "./paths.ts";

/** The variable in which a child gets the token. */
export const lockVariable = "IOTA_RUN_LOCK";

/** The token that this process was handed. */
export const handedToken = ({ get }: Environment): string | null => get(lockVariable) ?? null;
