/**
 * What a node says with `--json` while it runs, as types: the source of its own screen. Field names once published
 * stay.
 */

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
    uid?: number | null; // of a miner, like the fields below
    emissionRao?: string; // allotted by the last epoch
    earnedRao?: string | null; // of it, what is in its stake; null: cannot be read
    stakeRao?: string | null;
    rank?: number | null; // by incentive, from 1
    ranked?: number; // miners with any incentive
  }
  | { type: "weightsLanded"; purpose: string; block: number };

export type NodeEvent = ShellEvent | MinerRecord | ValidatorRecord;
