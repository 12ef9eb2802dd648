/**
 * The way of any one microbatch through the pipeline, from the lines of a record log.
 *
 * Owns: which lines are about it. They lie together, but where is not known, so all are looked at; only those that can be about it
 * are parsed.
 */

import { addHop, hopOf, type PathwayView } from "../../../core/view/pathways.ts";
import { parseLine } from "../projection/log_line.ts";

export class PathwaySearch {
  readonly #microbatch: number;
  readonly #mark: string;
  #found: PathwayView | null = null;

  constructor(microbatch: number) {
    this.#microbatch = microbatch;
    this.#mark = `"microbatch":${microbatch}`;
  }

  /** Null: a line that is too long to be read. */
  take(text: string | null): void {
    if (text === null) return;
    if (text.includes(this.#mark)) this.#takeTask(text);
    else if (this.#found?.step === null && text.includes('"stepClosed"')) this.#takeStep(text);
  }

  /** Its last way, if the run went back and did it again; null if no task of it is in the log. */
  get found(): PathwayView | null {
    return this.#found;
  }

  #takeTask(text: string): void {
    const record = parseLine(text)?.record;
    if (record?.type !== "taskFinished" || record.microbatch !== this.#microbatch) return;
    const hop = hopOf(record);
    if (hop === null) return;
    const isAgain = this.#found !== null && this.#found.step !== null;
    if (this.#found === null || isAgain) this.#found = { microbatch: this.#microbatch, step: null, hops: [] };
    addHop(this.#found, hop);
  }

  #takeStep(text: string): void {
    const record = parseLine(text)?.record;
    if (record?.type === "stepClosed" && this.#found !== null) this.#found = { ...this.#found, step: record.step };
  }
}
