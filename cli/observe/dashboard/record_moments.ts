/**
 * A run's moments for an exported file: evenly over its records, each the public state as it was live.
 *
 * Owns: how many there are: at most `mostMoments`, and fewer where the states of a large swarm would take more than `mostBytes`.
 */

import { publicMoment } from "../history/past.ts";
import type { RunHistory } from "../history/run_history.ts";
import type { PublicSpan } from "../public/public_past.ts";
import type { Recording } from "./page/past.ts";
import type { RunSnapshot } from "../public/public_run.ts";
import { changesJson, partsOf, type SnapshotParts } from "./run_changes.ts";

const mostMoments = 600;
const mostBytes = 2 ** 26; // before compression

/** Null if the log holds no moment. */
export async function recordMoments(
  history: RunHistory,
  span: PublicSpan,
  onMoment: (done: number, count: number) => void = () => {},
): Promise<Recording | null> {
  const snapshot = (sequence: number) => history.at(sequence, publicMoment);
  const first = await snapshot(span.first);
  if (first === null) return null;
  const records = span.last - span.first;
  const newest = await snapshot(span.last) ?? first;
  const size = JSON.stringify(newest).length;
  const count = Math.min(records, mostMoments, Math.max(2, Math.floor(mostBytes / size)));
  const changes: string[] = [];
  let before = partsOf(first);
  for (let i = 1; i <= count; i++) {
    onMoment(i, count);
    const state = await snapshot(span.first + Math.round((i / count) * records));
    if (state === null || state.sequence <= before.sequence) continue;
    const after = partsOf(state);
    changes.push(changesJson(before, after) ?? nothingChanged(after));
    before = after;
  }
  return { span, first: first satisfies RunSnapshot, changes: changes.map((json) => JSON.parse(json)) };
}

const nothingChanged = ({ sequence, atMs }: SnapshotParts): string =>
  JSON.stringify({ sequence, atMs, run: {}, members: {}, conduct: {}, paces: {}, validators: {} });
