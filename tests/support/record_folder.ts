/** A run folder with a record log, written by the program's own log. */

import { openRecordLog } from "../../cli/observe/projection/record_log.ts";
import { foldForeign } from "../../cli/observe/projection/log_line.ts";
import type { RunView } from "../../core/view/view.ts";
import type { RunFacts, ViewRecord } from "../../core/view/view_record.ts";
import { ManualTimers } from "./net/manual_timers.ts";
import { sampleFacts, sampleRun } from "./sample_run.ts";

export interface RecordedRun {
  /** The view after each record, as JSON; the first record has the number 1. */
  readonly live: ReadonlyMap<number, string>;
  readonly last: number;
}

/** Writes the records to a log whose files take `fileBytes`. */
export async function recordRun(
  folder: string,
  options: { steps?: number; fileBytes?: number; facts?: Partial<RunFacts>; more?: readonly ViewRecord[] } = {},
): Promise<RecordedRun> {
  const { steps = 40, fileBytes = 2 ** 24, facts = {}, more = [] } = options;
  const timers = new ManualTimers();
  const { log, view, sequence } = await openRecordLog({ folder, timers, warn: fail, fileBytes });
  const live = new Map<number, string>();
  let last = sequence;
  const keep = (record: ViewRecord, atMs: number) => {
    last += 1;
    const entry = { sequence: last, atMs, record };
    foldForeign(view, entry);
    log.append(entry, view);
    live.set(last, JSON.stringify(view satisfies RunView));
    if (last % 7 === 0) log.flush();
  };
  keep({ type: "opened", facts: { ...sampleFacts, ...facts }, startedAtMs: 0, step: 0 }, 0);
  for (const { record, atMs } of sampleRun(steps)) keep(record, atMs);
  for (const record of more) keep(record, 200_000);
  log.close();
  return { live, last };
}

function fail(text: string): void {
  throw new Error(text);
}
