/// <reference lib="dom" />
/**
 * The run's past, from the API or an exported recording: slider positions, ascending in time, and the state at each.
 */

import type { PublicEarnings, PublicSpan, RunSnapshot } from "../../public/public_shape.ts";
import { type RunChanges, withChanges } from "./run_state.ts";

export interface Past {
  readonly span: PublicSpan;
  readonly positions: number;
  sequenceAt(position: number): number;
  positionOf(sequence: number): number;
  at(sequence: number): Promise<RunSnapshot | null>;
}

const mostPositions = 1_000;
const againMs = 1_000;

/** Null: no log or no answer. */
export async function servedPast(newest: number): Promise<Past | null> {
  const response = await fetch("/api/v1/history").catch(() => null);
  if (response === null || !response.ok) return null;
  const span = await response.json() as PublicSpan | null;
  if (span === null) return null;
  const last = Math.max(newest, span.last);
  const { first } = span;
  if (first === 0 || last <= first) return null;
  const positions = Math.min(mostPositions, last - first);
  return {
    span: { ...span, last },
    positions,
    sequenceAt: (position) => first + Math.round((position / positions) * (last - first)),
    positionOf: (sequence) => Math.round(((sequence - first) / (last - first)) * positions),
    at: servedMoment,
  };
}

async function servedMoment(sequence: number): Promise<RunSnapshot | null> {
  const response = await fetch(`/api/v1/past?at=${sequence}`).catch(() => null);
  if (response?.status === 503) await new Promise((resolve) => setTimeout(resolve, againMs));
  return response?.ok === true ? await response.json() : null;
}

export interface Recording {
  readonly span: PublicSpan;
  readonly first: RunSnapshot;
  readonly changes: readonly RunChanges[];
  readonly earnings?: PublicEarnings | null;
}

const keptEvery = 32; // changes in between are applied again

export function recordedPast({ span, first, changes }: Recording): Past {
  const sequences = [first.sequence, ...changes.map(({ sequence }) => sequence)];
  const kept: RunSnapshot[] = [];
  let state = first;
  changes.forEach((change, i) => {
    if (i % keptEvery === 0) kept.push(state);
    state = withChanges(state, change);
  });
  const positionOf = (sequence: number) => Math.max(0, sequences.findLastIndex((each) => each <= sequence));
  return {
    span,
    positions: changes.length,
    sequenceAt: (position) => sequences[position] ?? span.last,
    positionOf,
    at(sequence) {
      const position = positionOf(sequence);
      const from = Math.min(kept.length - 1, Math.floor(position / keptEvery));
      const start = kept[from] ?? first;
      return Promise.resolve(changes.slice(Math.max(0, from) * keptEvery, position).reduce(withChanges, start));
    },
  };
}

export async function recordingHere(): Promise<Recording | null> {
  const element = document.getElementById("recording");
  if (element === null) return null;
  const packed = Uint8Array.from(atob(element.textContent.trim()), (character) => character.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return await new Response(unpacked).json();
}
