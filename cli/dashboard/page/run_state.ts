/** The page's copy of a run: a snapshot, and how changes go into it. Pure. */

import type { PublicMember, PublicRun, RunSnapshot } from "../public_run.ts";

/** The data of the event `changes`. */
export interface RunChanges {
  readonly sequence: number;
  readonly atMs: number;
  readonly run: Partial<PublicRun>;
  readonly members: Readonly<Record<string, PublicMember | null>>; // null: gone
}

export function withChanges(state: RunSnapshot, { sequence, atMs, run, members: changed }: RunChanges): RunSnapshot {
  const members = { ...state.members };
  for (const [node, member] of Object.entries(changed)) {
    if (member === null) delete members[node];
    else members[node] = member;
  }
  return { ...state, sequence, atMs, run: { ...state.run, ...run }, members };
}
