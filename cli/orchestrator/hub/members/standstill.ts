/**
 * Tells members when the run stands still and why: their screens would otherwise show a run that trains.
 *
 * Owns: the reasons that hold now, and since when. The words go over the links directly, as the run's machine does not step while it
 * is held. Out of scope: holding it (holds.ts, run_pause.ts; core/orchestrator/merge/losses for a halt).
 */

import { type Notice, type Standstill, standstills } from "../../../../core/protocol/notice.ts";
import type { RunRecord } from "../../../../core/protocol/record.ts";

type StandstillNotice = Extract<Notice, { about: "standstill" }>;

export class StandstillNews {
  readonly #since = new Map<Standstill, number>();
  readonly #nowMs: () => number;
  readonly #tellAll: (notice: Notice) => void;
  #stages: readonly number[] = [];

  constructor({ nowMs, tellAll }: { nowMs: () => number; tellAll: (notice: Notice) => void }) {
    this.#nowMs = nowMs;
    this.#tellAll = tellAll;
  }

  /** For a member that comes in; null: the run goes on. */
  get current(): StandstillNotice | null {
    const why = standstills.find((reason) => this.#since.has(reason));
    if (why === undefined) return null;
    const stages = why === "stages" ? this.#stages : [];
    return { type: "notice", about: "standstill", why, stages, sinceMs: this.#since.get(why) ?? 0 };
  }

  set(reason: Standstill, holds: boolean): void {
    if (holds === this.#since.has(reason)) return;
    const before = this.current?.why;
    if (holds) this.#since.set(reason, Math.floor(this.#nowMs()));
    else this.#since.delete(reason);
    if (this.current?.why !== before) this.#tell();
  }

  onRecord(record: RunRecord): void {
    if (record.type === "runPaused" || record.type === "runContinued") {
      return this.set("disk", record.type === "runPaused");
    }
    if (record.type === "trainingHalted" || record.type === "trainingRetried") {
      return this.set("halt", record.type === "trainingHalted");
    }
    if (record.type !== "stagesUnserved") return;
    const isOther = this.#stages.join() !== record.stages.join();
    this.#stages = record.stages;
    const holds = record.stages.length > 0;
    if (holds && this.current?.why === "stages" && isOther) this.#tell();
    this.set("stages", holds);
  }

  #tell(): void {
    const sinceMs = Math.floor(this.#nowMs());
    this.#tellAll(this.current ?? { type: "notice", about: "standstill", why: null, stages: [], sinceMs });
  }
}
