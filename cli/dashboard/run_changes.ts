/**
 * A snapshot of a run in parts, as JSON: the whole, or the parts in which two snapshots differ.
 *
 * The parts are the fields of the run and its members. They are text from the beginning, because a view changes in place.
 * Invariant: however many records lie between two snapshots, their difference is never larger than a snapshot.
 */

import type { RunSnapshot } from "./public_run.ts";

export interface SnapshotParts {
  readonly version: number;
  readonly sequence: number;
  readonly atMs: number;
  readonly run: ReadonlyMap<string, string>;
  readonly members: ReadonlyMap<string, string>;
}

export function partsOf({ version, sequence, atMs, run, members }: RunSnapshot): SnapshotParts {
  const parts = (of: object) => new Map(Object.entries(of).map(([name, value]) => [name, JSON.stringify(value)]));
  return { version, sequence, atMs, run: parts(run), members: parts(members) };
}

/** A `RunSnapshot` as JSON. */
export function snapshotJson({ version, sequence, atMs, run, members }: SnapshotParts): string {
  const head = `{"version":${version},"sequence":${sequence},"atMs":${atMs}`;
  return `${head},"run":${objectJson([...run])},"members":${objectJson([...members])}}`;
}

/** `{sequence, atMs, run, members}` with what changed, a member that left as null; null if nothing changed but the time. */
export function changesJson(before: SnapshotParts, after: SnapshotParts): string | null {
  const run = [...after.run].filter(([name, json]) => before.run.get(name) !== json);
  const members = [...after.members].filter(([node, json]) => before.members.get(node) !== json);
  for (const node of before.members.keys()) if (!after.members.has(node)) members.push([node, "null"]);
  if (run.length + members.length === 0) return null;
  return `{"sequence":${after.sequence},"atMs":${after.atMs},"run":${objectJson(run)},"members":${
    objectJson(members)
  }}`;
}

const objectJson = (entries: readonly (readonly [string, string])[]): string =>
  `{${entries.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(",")}}`;
