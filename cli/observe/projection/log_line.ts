/**
 * One line of a record log: a record, or the whole view where a file begins or lines are missing. Other versions' and
 * damaged lines are folded too.
 */

import { emptyCurves, noBytes } from "../../../core/view/curves.ts";
import { newConduct } from "../../../core/view/fold_conduct.ts";
import { noPathways } from "../../../core/view/pathways.ts";
import { fold } from "../../../core/view/fold.ts";
import { recordProblem } from "./record_shape.ts";
import type { RunView } from "../../../core/view/view.ts";
import type { StampedRecord } from "../../../core/view/view_record.ts";

const newFields: (view: RunView) => Pick<
  RunView,
  | "unserved"
  | "heldOut"
  | "roundStarts"
  | "samples"
  | "agreement"
  | "pathways"
  | "isPausedByOwner"
  | "curves"
  | "bytes"
  | "begunAtMs"
> = ({ startedAtMs }) => ({
  begunAtMs: startedAtMs,
  unserved: [],
  heldOut: [],
  roundStarts: [],
  samples: [],
  agreement: [],
  pathways: noPathways(),
  isPausedByOwner: false,
  curves: emptyCurves(),
  bytes: noBytes(),
});

/** Adds later versions' fields; `viewProblem` checks the shape. */
export function wholeView(view: RunView): RunView {
  for (const node of Object.values(view.nodes ?? {})) {
    if (!isObject(node)) continue;
    node.conduct ??= newConduct();
    node.conduct.outrun ??= 0;
    node.checks ??= null;
    node.pace ??= null;
    node.openPace ??= null;
  }
  return { ...newFields(view), ...view };
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;

export function foldForeign(view: RunView, entry: StampedRecord): string | null {
  const problem = recordProblem(entry.record);
  if (problem !== null) return `record ${entry.sequence} cannot be read: ${problem}`;
  try {
    fold(view, entry);
    return null;
  } catch (error) {
    return `record ${entry.sequence} cannot be read: ${textOf(error)}`;
  }
}

export interface LogLine {
  readonly sequence: number;
  readonly atMs: number;
  readonly record?: StampedRecord["record"];
  readonly view?: RunView;
}

export function parseLine(line: string): LogLine | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null; // torn by a full disk
  }
  if (typeof value !== "object" || value === null) return null;
  const { sequence, atMs } = value as Record<string, unknown>;
  const isStamped = Number.isSafeInteger(sequence) && typeof atMs === "number";
  return isStamped ? value as LogLine : null;
}

const textOf = (error: unknown): string => error instanceof Error ? error.message : String(error);
