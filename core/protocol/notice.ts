/** Notifications to a miner's owner; PROTOCOL_VERSION of message.ts covers them. */

/** An undone task has no notification: it is simply unpaid. */
export const toldDuties = ["confirming", "committing", "reducing", "applying", "uploading", "showing"] as const;
export type ToldDuty = typeof toldDuties[number];

export type Notice =
  /** Half or all of the round's pay. */
  | { readonly type: "notice"; readonly about: "withheld"; readonly duty: ToldDuty; readonly round: number }
  /** Suspended for missed deadlines. */
  | { readonly type: "notice"; readonly about: "rest"; readonly untilRound: number }
  /** Unvested pay from this round on is forfeited. */
  | { readonly type: "notice"; readonly about: "forfeit"; readonly fromRound: number }
  /** Rounds merged while the stage loaded: the miner applies them now; with `startsAnew`, they are too many. */
  | { readonly type: "notice"; readonly about: "behind"; readonly merges: number; readonly startsAnew: boolean }
  /** A process at this address tried to join with the same hotkey; it is refused while this link lives. */
  | { readonly type: "notice"; readonly about: "rival"; readonly from: string }
  /** `why` null: the run continues. */
  | {
    readonly type: "notice";
    readonly about: "standstill";
    readonly why: Standstill | null;
    readonly stages: readonly number[]; // without a miner, for "stages"
    readonly sinceMs: number; // the orchestrator's wall clock
  };

/** Paused by its owner, disk full, last rounds lost, stages without a miner. */
export const standstills = ["owner", "disk", "halt", "stages"] as const;
export type Standstill = typeof standstills[number];
