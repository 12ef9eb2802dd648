/** A run's snapshot as JSON parts: all, or those that changed. Parts are text, because a view changes in place. */

import type { RunSnapshot } from "../public/public_shape.ts";

export interface SnapshotParts {
  readonly version: number;
  readonly sequence: number;
  readonly atMs: number;
  readonly run: ReadonlyMap<string, string>;
  readonly members: ReadonlyMap<string, string>;
  readonly conduct: ReadonlyMap<string, string>;
  readonly paces: ReadonlyMap<string, string>;
  readonly validators: ReadonlyMap<string, string>;
}

const sections = ["run", "members", "conduct", "paces", "validators"] as const;

export function partsOf(
  { version, sequence, atMs, run, members, conduct, paces, validators }: RunSnapshot,
): SnapshotParts {
  const parts = (of: object) => new Map(Object.entries(of).map(([name, value]) => [name, JSON.stringify(value)]));
  const ofNodes = {
    members: parts(members),
    conduct: parts(conduct),
    paces: parts(paces),
    validators: parts(validators),
  };
  return { version, sequence, atMs, run: parts(run), ...ofNodes };
}

export function snapshotJson(parts: SnapshotParts): string {
  const { version, sequence, atMs } = parts;
  const bodies = sections.map((section) => `"${section}":${objectJson([...parts[section]])}`);
  return `{"version":${version},"sequence":${sequence},"atMs":${atMs},${bodies.join(",")}}`;
}

/** `{sequence, atMs, …}` with the changed parts, a departed member as null. Null: only the time changed. */
export function changesJson(before: SnapshotParts, after: SnapshotParts): string | null {
  const changed = sections.map((section) => changedParts(before[section], after[section]));
  if (changed.every(({ length }) => length === 0)) return null;
  const bodies = sections.map((section, i) => `"${section}":${objectJson(changed[i]!)}`);
  return `{"sequence":${after.sequence},"atMs":${after.atMs},${bodies.join(",")}}`;
}

type Part = readonly [name: string, json: string];

function changedParts(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): Part[] {
  const changed: Part[] = [...after].filter(([name, json]) => before.get(name) !== json);
  for (const name of before.keys()) if (!after.has(name)) changed.push([name, "null"]);
  return changed;
}

const objectJson = (entries: readonly Part[]): string =>
  `{${entries.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(",")}}`;
