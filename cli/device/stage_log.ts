/**
 * The tasks and steps that changed a stage since a state that can be loaded again; repeating them on a new device gives
 * the same bits. Arguments are kept by reference, so only released wires and tokens cost memory: `closedBytes`.
 */

import type { StageCompute } from "../../gpu/compute.ts";

export type Restore = (stage: StageCompute) => Promise<void>;

interface Change {
  readonly repeat: (stage: StageCompute) => Promise<unknown>;
  readonly bytes: number; // of its arguments; 0: they are the owner's
}

export class StageLog {
  #restore: Restore | null = null;
  #closed: Change[] = [];
  #closedBytes = 0;
  #open: Change[] = []; // tasks in the gradient

  get closedBytes(): number {
    return this.#closedBytes;
  }

  get length(): number {
    return this.#closed.length + this.#open.length;
  }

  /** Null: what comes now cannot be repeated. */
  begin(restore: Restore | null): void {
    this.#restore = restore;
    this.#closed = [];
    this.#closedBytes = 0;
    this.#open = [];
  }

  accumulated(change: Change): void {
    this.#open.push(change);
  }

  zeroed(): void {
    this.#open = [];
  }

  stepped(change: Change): void {
    this.#close([...this.#open, change]);
  }

  replaced(change: Change): void {
    this.#close([change]);
  }

  /** Throws if the beginning is not known. */
  async repeat(stage: StageCompute): Promise<void> {
    if (this.#restore === null) throw new Error("its state is not kept anywhere");
    await this.#restore(stage);
    for (const { repeat } of [...this.#closed, ...this.#open]) await repeat(stage);
  }

  #close(changes: readonly Change[]): void {
    this.#open = [];
    if (this.#restore === null) return;
    this.#closed.push(...changes);
    this.#closedBytes += changes.reduce((sum, { bytes }) => sum + bytes, 0);
  }
}
