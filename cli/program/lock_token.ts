/** What a process hands a child that may write into the run's folder beside it (cli/files/folder_lock.ts). */

import type { Environment } from "./paths.ts";

export const lockVariable = "IOTA_RUN_LOCK";

export const handedToken = ({ get }: Environment): string | null => get(lockVariable) ?? null;
