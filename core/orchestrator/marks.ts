/**
 * Marks on branches that a run rarely takes; their counts decide nothing. tests/tidy/marks_test.ts refuses a mark
 * without a test that reaches it, so a change that makes a branch unreachable breaks a test.
 */

export const marks = [
  // merge/mending.ts
  "blob repair: nothing is lost, asked once more",
  "blob repair: nothing is lost, leaves the merge",
  "blob repair: a contributor uploads its payload again",
  "blob repair: a payload is left out",
  "blob repair: a slice has no payload left",
  "blob repair: lost slices are reduced again",
  "blob repair: slices are lost again and again",
  "restore: replicas decide what the orchestrator cannot compute",
  "blob repair: others have applied lost slices",
  // members/departing.ts
  "leaving: the round ends early",
  // merge/losses/lost_progress.ts
  "lost progress: the round goes on without it",
  // merge/restoring.ts
  "restore: could not load too often",
  "restore: a replica is asked for its stage",
  "restore: the replicas that held it are gone",
  "restore: something else takes the stage's place",
  "restore: the run goes back to an earlier checkpoint",
  "restore: one word is believed",
  "restore: replicas upload what the orchestrator cannot compute",
  "restore: a merged round is repeated",
  // step/refusals.ts
  "refusal: taken, as all replicas doubt it",
  "refusal: may be honest, nobody is blamed",
  "refusal: proven wrong",
  "refusal: the only replica is blamed",
  "refusal: all replicas load again",
  "refusal: training has diverged",
  // audit/auditing.ts
  "audit: given up, as too many rounds are open",
] as const;

export type Mark = typeof marks[number];

/** How often each mark was reached, over every process of the run. */
export type MarkCounts = Map<Mark, number>;

export function reach({ marks }: { readonly marks: MarkCounts }, mark: Mark): void {
  marks.set(mark, (marks.get(mark) ?? 0) + 1);
}
