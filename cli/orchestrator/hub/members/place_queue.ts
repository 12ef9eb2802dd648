/**
 * Who gets the next place in a full run: nodes that ask again and again, in the order in which they first asked.
 *
 * Owns: the order, and the sentence for a node that waits. Out of scope: what a place is (core/orchestrator/members/roster.ts).
 * Invariants: bounded; a node keeps its rank for `keepMs` after it last asked, so a restart of it or of the orchestrator costs none;
 * one that does not ask keeps nobody from a place for longer than `awakeMs`.
 */

import { type Fault, fault } from "../../../../core/fault.ts";
import type { NodeId } from "../../../../core/ids.ts";
import { plural } from "../../../../core/plural.ts";

const keepMs = 600_000; // a new version is installed, a machine is started again
const awakeMs = 15_000; // a node asks at least every 4 s (net/links/node.ts)
const mostQueued = 4096; // their addresses are 200 kB

export interface PlaceQueueOptions {
  readonly queued?: readonly NodeId[]; // from before a restart
  readonly onChange: (queued: readonly NodeId[]) => void;
  readonly steadyMs: () => number;
}

export class PlaceQueue {
  readonly #options: PlaceQueueOptions;
  readonly #askedMs = new Map<NodeId, number>(); // in the order of the first question

  constructor(options: PlaceQueueOptions) {
    this.#options = options;
    for (const node of options.queued ?? []) this.#askedMs.set(node, options.steadyMs());
  }

  /** Null: it may come in. `free`: places that nobody has; `most`: miners of a stage. */
  ask(node: NodeId, { free, most }: { free: number; most: number }): Fault | null {
    const nowMs = this.#options.steadyMs();
    const before = this.#askedMs.size;
    for (const [each, askedMs] of this.#askedMs) if (nowMs - askedMs > keepMs) this.#askedMs.delete(each);
    const isNew = !this.#askedMs.has(node);
    const awake = [...this.#askedMs].filter(([each, askedMs]) => each === node || nowMs - askedMs <= awakeMs);
    const rank = isNew ? awake.length : awake.findIndex(([each]) => each === node);
    if (rank < free) {
      if (this.#askedMs.size !== before) this.#changed();
      return null; // it stays in the queue until it has its place, as it may break off
    }
    if (isNew && this.#askedMs.size >= mostQueued) {
      return fault(
        "limitExceeded",
        `Every place is taken, and ${mostQueued} nodes wait for one already; try again later`,
      );
    }
    this.#askedMs.set(node, nowMs);
    if (isNew || this.#askedMs.size !== before) this.#changed();
    const others = Math.max(rank + 1, awake.length + (isNew ? 1 : 0));
    return fault(
      "limitExceeded",
      `Every stage has its ${plural(most, "miner")}, so this node waits for a place, ${
        rank + 1
      } of ${others} in the queue. It gets one when a ` +
        "miner leaves, or when the run's owner raises limits.minersPerStage; it keeps its rank for 10 minutes while it is restarted",
    );
  }

  /** It has its place. */
  left(node: NodeId): void {
    if (this.#askedMs.delete(node)) this.#changed();
  }

  #changed(): void {
    this.#options.onChange([...this.#askedMs.keys()]);
  }
}
