/** Applies changes to the page's snapshot of a run. Pure. */

import type {
  PublicChecks,
  PublicConduct,
  PublicMember,
  PublicPace,
  PublicRun,
  RunSnapshot,
} from "../../public/public_shape.ts";

export interface RunChanges {
  readonly sequence: number;
  readonly atMs: number;
  readonly run: Partial<PublicRun>;
  readonly members: Readonly<Record<string, PublicMember | null>>; // null: gone
  readonly conduct: Readonly<Record<string, PublicConduct | null>>;
  readonly paces: Readonly<Record<string, PublicPace | null>>;
  readonly validators: Readonly<Record<string, PublicChecks | null>>;
}

export function withChanges(state: RunSnapshot, changes: RunChanges): RunSnapshot {
  const { sequence, atMs, run, members, conduct, paces, validators } = changes;
  return {
    ...state,
    ...{ sequence, atMs, run: { ...state.run, ...run } },
    members: changedEntries(state.members, members),
    conduct: changedEntries(state.conduct, conduct),
    paces: changedEntries(state.paces, paces),
    validators: changedEntries(state.validators, validators),
  };
}

type Entries<Value> = Readonly<Record<string, Value>>;

function changedEntries<Value>(before: Entries<Value>, changes: Entries<Value | null>): Entries<Value> {
  if (Object.keys(changes).length === 0) return before;
  const after: Record<string, Value> = { ...before };
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) delete after[name];
    else after[name] = value;
  }
  return after;
}
