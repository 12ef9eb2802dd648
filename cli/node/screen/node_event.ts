/** What a node prints with `--json` while it runs, for its own screen. Published field names stay. */

import type { MinerRecord } from "../../../core/miner/event.ts";
import type { ValidatorRecord } from "../../../core/validator/event.ts";

export type ShellEvent =
  | { type: "device"; name: string; isSoftware: boolean }
  | { type: "deviceLost"; reason: string; losses: number }
  | { type: "stageRebuilt"; stage: number; calls: number }
  | { type: "waiting"; url: string; reason: string; waitedMs: number }
  | { type: "idle"; idleMs: number; isOver: boolean }
  | { type: "paused"; cause: string; reason: string }
  | { type: "resumed" }
  | { type: "chainConnected"; endpoint: string; netuid: number }
  | {
    type: "chainHealth";
    level: "good" | "waiting" | "alarm";
    sentences: readonly string[];
    uid?: number | null; // a miner's, like the fields below
    emissionRao?: string;
    earnedRao?: string | null; // the part in its stake; null: cannot be read
    stakeRao?: string | null;
    rank?: number | null; // by incentive, from 1
    ranked?: number; // miners with any incentive
  }
  | { type: "weightsLanded"; purpose: string; block: number };

export type NodeEvent = ShellEvent | MinerRecord | ValidatorRecord;
