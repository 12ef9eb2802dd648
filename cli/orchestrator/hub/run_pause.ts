/**
 * Pauses the run while the orchestrator's disk is full: which of its writes wait for room, and what is reported.
 *
 * The orchestrator's own work and journal entries are retried until they fit; for a member's upload, which the member sends again, the
 * disk is probed. Out of scope: waiting (room_wait.ts), pausing events (driver.ts). Other disk errors are passed on.
 */

import { vectorBytes } from "../../../core/model/vector_bytes.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import type { Timers } from "../../../net/timers.ts";
import { JournalError } from "../../files/journal_error.ts";
import { isDiskFull } from "../../files/disk_room.ts";
import type { HubWork } from "./hub_work.ts";
import type { StateJournal } from "./journal/hub_journal.ts";
import { type RoomNeed, RoomWait } from "./room_wait.ts";

export interface RunPauseOptions {
  readonly timers: Timers;
  readonly driver: { hold(): void; resume(): void };
  readonly onRecord: (record: RunRecord) => void;
  /** Throws while the disk has no room for this many bytes. */
  readonly probeRoom: (bytes: number) => Promise<void>;
}

const vectorsOf = 2; // a stage: parameters and outer momentum
const journalNeed: RoomNeed = { what: "the journal", bytes: 2 ** 16 }; // of an entry and its pages

export class RunPause {
  readonly #options: RunPauseOptions;
  readonly #room: RoomWait;
  #blocked: Promise<void> | null = null; // the last of the commits that wait for room

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

  /** Done when it returns, or when the promise resolves. Call in the order in which the journal must have them. */
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

  /** Later commits come after this one. */
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

  /** The journal, whose entries wait for room, and the run with them. */
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

  /** Pending waits never settle. */
  close(): void {
    this.#room.close();
  }
}

/** The bytes that the orchestrator's own work leaves on the disk. */
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

/** SQLite does not always report that a disk or a quota is full; writing something else reveals it. */
function isUnclear(error: unknown): boolean {
  return error instanceof JournalError && error.code === "storage";
}

export type HoldReason = "disk" | "owner";

/** Why the run stands still: it goes on when no reason is left. */
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
