/** The confined thread of a role on a machine whose clock is wrong (skewed_iota.ts). */

import { moveClock } from "./moved_clock.ts";

moveClock(Number(new URL(import.meta.url).searchParams.get("aheadMs")));
await import("../../../cli/confined_worker.ts");
