/**
 * What a miner is told of itself, for its owner's eyes: a missed duty and what that costs, or why it has no work yet. Part of version
 * PROTOCOL_VERSION (message.ts). It asks for nothing.
 */

/** Duties whose neglect is told: an undone task is unpaid anyway. */
export const toldDuties = ["confirming", "committing", "reducing", "applying", "uploading", "showing"] as const;
export type ToldDuty = typeof toldDuties[number];

export type Notice =
  /** The round's pay is cut, by half or whole. */
  | { readonly type: "notice"; readonly about: "withheld"; readonly duty: ToldDuty; readonly round: number }
  /** No stage until this round, as duties were not done. */
  | { readonly type: "notice"; readonly about: "rest"; readonly untilRound: number }
  /** Pay of this round and those since is lost, as far as it was not due. */
  | { readonly type: "notice"; readonly about: "forfeit"; readonly fromRound: number }
  /** Its stage took as long to load as so many merged rounds, which it now applies; with `startsAnew`, too many of them. */
  | { readonly type: "notice"; readonly about: "behind"; readonly merges: number; readonly startsAnew: boolean }
  /** Another process asked to be let in with this node's hotkey, from this address: it is not, while this one's link is alive. */
  | { readonly type: "notice"; readonly about: "rival"; readonly from: string }
  /** The run stands still, or goes on (`why` null). */
  | {
    readonly type: "notice";
    readonly about: "standstill";
    readonly why: Standstill | null;
    readonly stages: readonly number[]; // that wait for a miner, for "stages"
    readonly sinceMs: number; // wall clock of the orchestrator
  };

/** Why a run stands still: its owner paused it, its disk is full, its last rounds were lost, or some stages have no miner. */
export const standstills = ["owner", "disk", "halt", "stages"] as const;
export type Standstill = typeof standstills[number];
