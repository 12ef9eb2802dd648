/** Whether a text is long enough for a run's sequences, checked before anything of the run is written. */

import { knobAt } from "../../../core/config/knobs.ts";
import { UserError } from "../../program/errors.ts";

type SplitName = "training" | "held-out";

/** Counts of tokens; read only until there are enough. */
type SplitTokens = Readonly<Record<SplitName, Iterable<number>>>;

interface SequenceNeeds {
  readonly contextLength?: number; // T; absent: any length will do
  readonly isResumed?: boolean; // then the settings can no longer change
}

export function mustHoldSequences({ contextLength, isResumed = false }: SequenceNeeds, splits: SplitTokens): void {
  if (contextLength === undefined) return;
  const counted = (["training", "held-out"] as const)
    .map((split) => ({ split, tokens: countUpTo(splits[split], contextLength + 1) }))
    .toSorted((a, b) => a.tokens - b.tokens);
  const { split, tokens } = counted[0]!; // advice that suits the shorter one suits both
  if (tokens <= contextLength) throw tooShort({ split, tokens, contextLength, isResumed });
}

function countUpTo(parts: SplitTokens[SplitName], enough: number): number {
  let tokens = 0;
  for (const part of parts) {
    tokens += part;
    if (tokens >= enough) break;
  }
  return tokens;
}

interface ShortText {
  readonly split: SplitName;
  readonly tokens: number;
  readonly contextLength: number;
  readonly sequences?: number;
  readonly isResumed?: boolean;
}

/** A sequence of T tokens reads T + 1, because its targets are shifted by one. */
export function tooShort({ split, tokens, contextLength, sequences = 1, isResumed = false }: ShortText): UserError {
  const count = sequences === 1 ? "a sequence" : `${sequences} sequences`;
  const needed = sequences * contextLength + 1;
  return new UserError(
    `Cannot cut ${count} of ${contextLength} tokens: the ${split} text needs at least ${needed} tokens and ` +
      `has ${tokens}`,
    {
      next: isResumed
        ? "The run keeps its settings: start it over with more text and --fresh, which puts the existing run aside"
        : adviceFor(split, Math.floor((tokens - 1) / sequences)),
    },
  );
}

function adviceFor(split: SplitName, most: number): string {
  const knob = knobAt("model.contextLength");
  if (knob.kind !== "int") return "Use more text";
  const fitting = Math.floor(most / (knob.multipleOf ?? 1)) * (knob.multipleOf ?? 1);
  const more = split === "training" ? "Use more text" : "Use more text or a larger data.heldOutFraction";
  return fitting < knob.min ? more : `${more}, or shorter sequences: --set model.contextLength=${fitting}`;
}
