/**
 * Pauses the run while the orchestrator's disk is full. Its work and journal entries are retried until they fit; for a
 * member's upload, which the member repeats, the disk is probed.
 */

import { vectorBytes } from "../../../core/model/vector_bytes.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import type { Cancel, Timers } from "../../../net/timers.ts";
import { isDiskFull, JournalError } from "../../files/journal_error.ts";
import type { HubWork } from "./hub_work.ts";
import type { StateJournal } from "../journal/hub_journal.ts";

/** Retries at growing intervals. */
interface RoomWaitOptions {
  readonly timers: Timers;
  readonly onFull: (text: string) => void;
  readonly onRoom: (waitedMs: number) => void;
}

interface RoomNeed {
  readonly what: string; // "the checkpoint of round 3"
  readonly bytes: number; // about
}

const firstRetryMs = 1_000;
const longestRetryMs = 30_000;

class RoomWait {
  readonly #options: RoomWaitOptions;
  readonly #timers = new Set<Cancel>();
  #waiting = 0;
  #sinceMs = 0;
  #isClosed = false;

  constructor(options: RoomWaitOptions) {
    this.#options = options;
  }

  get isWaiting(): boolean {
    return this.#waiting > 0;
  }

  async until<T>(need: RoomNeed, attempt: () => T | Promise<T>): Promise<T> {
    let isCounted = false;
    try {
      for (let retryMs = firstRetryMs;; retryMs = Math.min(2 * retryMs, longestRetryMs)) {
        try {
          return await attempt();
        } catch (error) {
          if (!isDiskFull(error)) throw error;
          if (this.#isClosed) return await new Promise<never>(() => {});
          if (!isCounted) this.#enter(need, error);
          isCounted = true;
        }
        await this.#pass(retryMs);
      }
    } finally {
      if (isCounted) this.#leave();
    }
  }

  /** Pending waits never settle. */
  close(): void {
    this.#isClosed = true;
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }

  #pass(waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.timers.after(waitMs, () => {
        this.#timers.delete(cancel);
        resolve();
      });
      this.#timers.add(cancel);
    });
  }

  #enter({ what, bytes }: RoomNeed, error: unknown): void {
    this.#waiting += 1;
    if (this.#waiting > 1) return;
    this.#sinceMs = this.#options.timers.steadyMs();
    const said = error instanceof Error ? error.message : String(error);
    this.#options.onFull(
      `The run is paused as ${what} needs about ${mebibytes(bytes)} and the disk is full: make room and it ` +
        `continues by itself (${said})`,
    );
  }

  #leave(): void {
    this.#waiting -= 1;
    if (this.#waiting === 0 && !this.#isClosed) this.#options.onRoom(this.#options.timers.steadyMs() - this.#sinceMs);
  }
}

const mebibytes = (bytes: number): string => `${Math.max(1, Math.ceil(bytes / 2 ** 20))} MiB`;

interface RunPauseOptions {
  readonly timers: Timers;
  readonly driver: { hold(): void; resume(): void };
  readonly onRecord: (record: RunRecord) => void;
  readonly probeRoom: (bytes: number) => Promise<void>;
}

const vectorsOf = 2; // a stage: parameters and outer momentum
const journalNeed: RoomNeed = { what: "the journal", bytes: 2 ** 16 }; // an entry and its pages

export class RunPause {
  readonly #options: RunPauseOptions;
  readonly #room: RoomWait;
  #blocked: Promise<void> | null = null; // last commit that waits for room

  constructor(options: RunPauseOptions) {
    const { timers, driver, onRecord } = options;
    this.#options = options;
    this.#room = new RoomWait({
      timers,
      onFull: (text) => {
        onRecord({ type: "runPaused", text });
        driver.hold();
      },
      onRoom: (pausedMs) => {
        onRecord({ type: "runContinued", pausedMs });
        driver.resume();
      },
    });
  }

  get isFull(): boolean {
    return this.#room.isWaiting;
  }

  /** Call in journal order. */
  commit(attempt: () => void | Promise<void>): void | Promise<void> {
    const before = this.#blocked;
    if (before !== null) return this.#block(before.then(() => this.#attemptUntilRoom(attempt)));
    try {
      return attempt()?.catch((error) => this.#block(this.#waitForRoom(error, attempt)));
    } catch (error) {
      if (!mayBeFull(error)) throw error;
      return this.#block(this.#waitForRoom(error, attempt));
    }
  }

  #block(waiting: Promise<void>): Promise<void> {
    this.#blocked = waiting;
    const isOver = () => {
      if (this.#blocked === waiting) this.#blocked = null;
    };
    waiting.then(isOver, isOver);
    return waiting;
  }

  async #attemptUntilRoom(attempt: () => void | Promise<void>): Promise<void> {
    try {
      await attempt();
    } catch (error) {
      await this.#waitForRoom(error, attempt);
    }
  }

  #waitForRoom(error: unknown, attempt: () => void | Promise<void>): Promise<void> {
    if (!mayBeFull(error)) return Promise.reject(error);
    return this.#room.until(journalNeed, () => this.#attemptCommit(attempt));
  }

  async #attemptCommit(attempt: () => void | Promise<void>): Promise<void> {
    try {
      await attempt();
    } catch (error) {
      if (isUnclear(error)) await this.#options.probeRoom(journalNeed.bytes);
      throw error;
    }
  }

  journal(journal: StateJournal): StateJournal {
    return {
      begin: (state, nowMs) => journal.begin(state, nowMs),
      commit: (batch, state) => this.commit(() => journal.commit(batch, state)),
      get isBehind() {
        return journal.isBehind === true;
      },
    };
  }

  async work<T>(need: RoomNeed, attempt: () => Promise<T>): Promise<T> {
    return await this.#room.until(need, attempt);
  }

  async upload(bytes: number): Promise<void> {
    const need = { what: "a miner's upload", bytes };
    await this.#room.until(need, () => this.#options.probeRoom(bytes));
  }

  close(): void {
    this.#room.close();
  }
}

const makes: Readonly<Record<HubWork["type"], string>> = {
  refereeSlice: "a slice that the orchestrator reduces",
  refereeMerge: "a stage that the orchestrator merges",
  restoreStage: "a stage that the orchestrator restores",
  checkBlobs: "a check of the stored blobs",
  checkPayload: "a check of a payload",
  layEnd: "a stage as one payload leaves it",
  checkState: "a check of the parameters that a miner shows",
  checkUpload: "a check of an uploaded stage",
};

export function needOfWork(work: HubWork, stageFloats: readonly number[]): RoomNeed {
  return { what: makes[work.type], bytes: vectorsOf * vectorBytes(stageFloats[work.stage] ?? 0) };
}

export function needOfCheckpoint(round: number, stageFloats: readonly number[]): RoomNeed {
  const floats = stageFloats.reduce((sum, count) => sum + count, 0);
  return { what: `the checkpoint of round ${round}`, bytes: vectorsOf * vectorBytes(floats) };
}

const mayBeFull = (error: unknown): boolean => isDiskFull(error) || isUnclear(error);

/** SQLite does not always report a full disk or quota; another write reveals it. */
function isUnclear(error: unknown): boolean {
  return error instanceof JournalError && error.code === "storage";
}

type HoldReason = "disk" | "owner";

/** The run goes on when no reason is left. */
export class Holds {
  readonly #driver: { hold(): void; resume(): void };
  readonly #reasons = new Set<HoldReason>();

  constructor(driver: { hold(): void; resume(): void }) {
    this.#driver = driver;
  }

  hold(reason: HoldReason): void {
    const isFirst = this.#reasons.size === 0;
    this.#reasons.add(reason);
    if (isFirst) this.#driver.hold();
  }

  release(reason: HoldReason): void {
    if (this.#reasons.delete(reason) && this.#reasons.size === 0) this.#driver.resume();
  }
}
