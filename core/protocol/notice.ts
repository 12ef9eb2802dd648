/**
 * Notifications of a miner about itself, for its owner: a missed deadline and its cost, or why it has no work yet. Part
 * of version PROTOCOL_VERSION (message.ts). They ask for nothing.
 */

/** Duties whose missed deadlines are notified; an undone task is simply unpaid. */
export const toldDuties = ["confirming", "committing", "reducing", "applying", "uploading", "showing"] as const;
export type ToldDuty = typeof toldDuties[number];

export type Notice =
  /** The round's pay is cut, by half or whole. */
  | { readonly type: "notice"; readonly about: "withheld"; readonly duty: ToldDuty; readonly round: number }
  /** Suspended until this round, because of missed deadlines. */
  | { readonly type: "notice"; readonly about: "rest"; readonly untilRound: number }
  /** Unvested pay of this round and later ones is forfeited. */
  | { readonly type: "notice"; readonly about: "forfeit"; readonly fromRound: number }
  /** Its stage took this many merged rounds to load, which it now applies; with `startsAnew`, too many. */
  | { readonly type: "notice"; readonly about: "behind"; readonly merges: number; readonly startsAnew: boolean }
  /**
   * Another process tried to join with this node's hotkey from this address; it is refused while this one's link is
   * alive.
   */
  | { readonly type: "notice"; readonly about: "rival"; readonly from: string }
  /** The run stands still, or continues (`why` null). */
  | {
    readonly type: "notice";
    readonly about: "standstill";
    readonly why: Standstill | null;
    readonly stages: readonly number[]; // that have no miner, for "stages"
    readonly sinceMs: number; // wall clock of the orchestrator
  };

/**
 * Why a run stands still: its owner paused it, its disk is full, its last rounds were lost, or stages have no miner.
 */
export const standstills = ["owner", "disk", "halt", "stages"] as const;
export type Standstill = typeof standstills[number];
