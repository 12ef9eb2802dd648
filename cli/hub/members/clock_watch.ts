/**
 * What an orchestrator says of clocks: of a node's that differs from its own, or of its own, when it differs from everybody's.
 *
 * Owns: each node's last difference, and the sentences. Nothing depends on them: nodes stamp their requests in this machine's time
 * (net/auth/clocks.ts). Invariants: bounded; a node is named once, and again only when its difference has changed.
 */

import type { NodeId } from "../../../core/ids.ts";
import { type ClockDifference, clockText, isAlike, isNoticeable } from "../../../net/auth/clocks.ts";
import { duration, plural } from "../../screen/format.ts";

const mostNodes = 4096; // a few hundred kB; the rest of a larger run says nothing new
const fewestNodes = 3; // two may be wrong together, as one person's machines are
const ownShare = 2 / 3; // of the nodes, with about the same difference

export class ClockWatch {
  readonly #known = new Map<NodeId, ClockDifference>();
  readonly #said = new Map<NodeId, ClockDifference>();
  #ownSaid: ClockDifference | null = null;

  /** A sentence for the owner, or null. `nowMs`: this machine's clock. */
  note(node: NodeId, clock: ClockDifference, nowMs: number): string | null {
    this.#known.delete(node);
    this.#known.set(node, clock);
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size > mostNodes) this.#forget(oldest);
    if (!isNoticeable(clock)) {
      this.#said.delete(node);
      return null;
    }
    const alike = [...this.#known.values()].filter((other) => isAlike(other, clock)).length;
    if (this.#known.size >= fewestNodes && alike >= ownShare * this.#known.size) {
      return this.#ownText(clock, { alike, nowMs });
    }
    const said = this.#said.get(node);
    if (said !== undefined && isAlike(said, clock)) return null;
    this.#said.set(node, clock);
    return `The clock of ${node} says ${clockText(nowMs + clock.aheadMs)}, and this machine's ${clockText(nowMs)}: ` +
      `a difference of ${duration(Math.abs(clock.aheadMs))}; set the one that is wrong`;
  }

  #ownText(clock: ClockDifference, { alike, nowMs }: { alike: number; nowMs: number }): string | null {
    if (this.#ownSaid !== null && isAlike(this.#ownSaid, clock)) return null;
    this.#ownSaid = clock;
    return `The clock of this machine is probably wrong: it says ${clockText(nowMs)}, and those of ${alike} of ` +
      `${plural(this.#known.size, "node")} say ${clockText(nowMs + clock.aheadMs)}, ${
        duration(Math.abs(clock.aheadMs))
      } ` +
      `${clock.aheadMs > 0 ? "later" : "earlier"}; set it, for example by timedatectl set-ntp true`;
  }

  #forget(node: NodeId): void {
    this.#known.delete(node);
    this.#said.delete(node);
  }
}

/** What a node says of its own clock beside the orchestrator's; null: they agree. */
export function nodeClockText(clock: ClockDifference, nowMs: number): string | null {
  if (!isNoticeable(clock)) return null;
  const side = clock.aheadMs > 0 ? "behind" : "ahead of";
  return `The clock of this machine (${clockText(nowMs)}) is ${
    duration(Math.abs(clock.aheadMs))
  } ${side} the orchestrator's ` +
    `(${clockText(nowMs + clock.aheadMs)}), whose time this node uses for its requests: set the one that is wrong`;
}
