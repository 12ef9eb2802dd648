/**
 * Reads a run's record log back into its view: at the start of a process, for a replay or a tool.
 *
 * The newest file is enough, because every file but the first begins with a view. Torn lines are skipped. Never throws: a log
 * without a valid view gives an empty one and the reason.
 */

import { emptyView, type RunView } from "../../../core/view/view.ts";
import { cutTornEnd, readWholeLines } from "../../terminal/text/whole_lines.ts";
import { foldForeign, parseLine, wholeView } from "./log_line.ts";
import { recordFileNames } from "../../files/record_files.ts";
import { viewProblem } from "./view_shape.ts";

export interface ReadRecords {
  readonly view: RunView;
  readonly sequence: number; // of the last record; 0: there is none
  readonly problem: string | null; // why the view is empty although there are records
}

/** `cuts`: removes a torn last line, before anything is appended. */
export async function readRecordLog(folder: string, { cuts = false } = {}): Promise<ReadRecords> {
  try {
    for (const name of recordFileNames) {
      const path = `${folder}/${name}`;
      const file = await readWholeLines(path);
      if (file === null) continue;
      if (cuts) await cutTornEnd(path, file);
      if (file.lines.length > 0) return foldLines(file.lines);
    }
    return { view: emptyView(), sequence: 0, problem: null };
  } catch (error) {
    return { view: emptyView(), sequence: 0, problem: textOf(error) };
  }
}

/** Skips records that cannot be folded and invalid views; a later valid view makes up for both. */
function foldLines(lines: readonly string[]): ReadRecords {
  let view = emptyView();
  let sequence = 0;
  let problem: string | null = null;
  for (const line of lines) {
    const entry = parseLine(line);
    if (entry === null) continue;
    if (entry.view !== undefined) {
      const whole = wholeView(entry.view);
      problem = viewProblem(whole);
      if (problem === null) view = whole;
    } else if (entry.record !== undefined && entry.sequence > sequence) {
      problem = foldForeign(view, { ...entry, record: entry.record }) ?? problem;
    }
    sequence = Math.max(sequence, entry.sequence);
  }
  problem = problem ?? viewProblem(view);
  return { view: problem === null ? view : emptyView(), sequence, problem };
}

const textOf = (error: unknown): string => error instanceof Error ? error.message : String(error);
