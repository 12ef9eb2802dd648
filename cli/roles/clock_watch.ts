/**
 * What an orchestrator says of clocks: of a member's that differs from its own, or of its own, when it differs from
 * everybody's.
 *
 * Only members count, each once, as anyone can say hello with any clock; a member is named once; everything is bounded.
 */

import type { NodeId } from "../../core/ids.ts";
import { type ClockDifference, clockText, isAlike, isNoticeable } from "../../net/auth/clocks.ts";
import { duration, plural } from "../terminal/text/format.ts";

const mostNamed = 4096; // their addresses are 200 kB, and the owner of so many lines learns nothing from another one
const fewestMembers = 3; // two may be wrong together, as one person's machines are
const ownShare = 2 / 3; // of the members, with about the same difference
const mostOwnSaid = 10; // times that this machine's clock is set to another wrong time

export class ClockWatch {
  readonly #clocks = new Map<NodeId, ClockDifference>();
  readonly #named = new Set<NodeId>();
  #ownSaid: ClockDifference | null = null;
  #ownSaidCount = 0;

  note(member: NodeId, clock: ClockDifference, nowMs: number): string | null {
    this.#clocks.set(member, clock);
    if (!isNoticeable(clock)) return null;
    const alike = [...this.#clocks.values()].filter((other) => isAlike(other, clock)).length;
    if (this.#clocks.size >= fewestMembers && alike >= ownShare * this.#clocks.size) {
      return this.#ownText(clock, { alike, nowMs });
    }
    if (this.#named.has(member) || this.#named.size >= mostNamed) return null;
    this.#named.add(member);
    return `The clock of ${member} says ${clockText(nowMs + clock.aheadMs)}, and this machine's ${clockText(nowMs)}: ` +
      `a difference of ${duration(Math.abs(clock.aheadMs))}; set the one that is wrong`;
  }

  left(member: NodeId): void {
    this.#clocks.delete(member);
  }

  #ownText(clock: ClockDifference, { alike, nowMs }: { alike: number; nowMs: number }): string | null {
    if (this.#ownSaid !== null && isAlike(this.#ownSaid, clock)) return null;
    if (this.#ownSaidCount >= mostOwnSaid) return null;
    this.#ownSaid = clock;
    this.#ownSaidCount += 1;
    return `The clock of this machine is probably wrong: it says ${clockText(nowMs)}, and those of ${alike} of ` +
      `${plural(this.#clocks.size, "node")} say ${clockText(nowMs + clock.aheadMs)}, ${
        duration(Math.abs(clock.aheadMs))
      } ` +
      `${clock.aheadMs > 0 ? "later" : "earlier"}; set it, for example by timedatectl set-ntp true`;
  }
}

export function nodeClockText(clock: ClockDifference, nowMs: number): string | null {
  if (!isNoticeable(clock)) return null;
  const side = clock.aheadMs > 0 ? "behind" : "ahead of";
  return `The clock of this machine (${clockText(nowMs)}) is ${
    duration(Math.abs(clock.aheadMs))
  } ${side} the orchestrator's ` +
    `(${clockText(nowMs + clock.aheadMs)}), whose time this node uses for its requests: set the one that is wrong`;
}
