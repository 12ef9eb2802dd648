/**
 * A bounded set of strangers, shared fairly among the addresses they come from.
 *
 * When it is full, the oldest stranger of the origin with most members makes room: at once for a newcomer whose origin
 * has fewer, so that one address cannot lock out another, but only after `shortestMs` for one of the same origin, so
 * that many honest nodes behind one address are not dropped before they are served.
 */

import { assert } from "../../core/assert.ts";

interface CrowdOptions {
  readonly most: number;
  readonly shortestMs: number;
}

type Entry<T> =
  | { readonly type: "admitted"; readonly dropped: T | null }
  | { readonly type: "refused" };

interface Stay {
  readonly origin: string;
  readonly sinceMs: number;
}

export class Crowd<T> {
  readonly #options: CrowdOptions;
  readonly #stays = new Map<T, Stay>();
  readonly #ofOrigin = new Map<string, Set<T>>(); // oldest first
  #most: number;

  constructor(options: CrowdOptions) {
    this.#options = options;
    this.#most = options.most;
  }

  get size(): number {
    return this.#stays.size;
  }

  /** At most `options.most`; lowering it drops no member. */
  set most(most: number) {
    this.#most = Math.max(1, Math.min(most, this.#options.most));
  }

  get most(): number {
    return this.#most;
  }

  has(member: T): boolean {
    return this.#stays.has(member);
  }

  add(member: T, { origin, nowMs }: { origin: string; nowMs: number }): Entry<T> {
    assert(!this.#stays.has(member), "a member joins a crowd once");
    let dropped: T | null = null;
    if (this.#stays.size >= this.#most) {
      dropped = this.#whoMakesRoom({ origin, nowMs });
      if (dropped === null) return { type: "refused" };
      this.remove(dropped);
    }
    this.#stays.set(member, { origin, sinceMs: nowMs });
    const others = this.#ofOrigin.get(origin);
    if (others === undefined) this.#ofOrigin.set(origin, new Set([member]));
    else others.add(member);
    return { type: "admitted", dropped };
  }

  remove(member: T): void {
    const stay = this.#stays.get(member);
    if (stay === undefined) return;
    this.#stays.delete(member);
    const others = this.#ofOrigin.get(stay.origin);
    others?.delete(member);
    if (others?.size === 0) this.#ofOrigin.delete(stay.origin);
  }

  take(count: number): T[] {
    const taken: T[] = [];
    while (taken.length < count) {
      const oldest = this.#oldestOfFullest();
      if (oldest === null) break;
      this.remove(oldest);
      taken.push(oldest);
    }
    return taken;
  }

  [Symbol.iterator](): IterableIterator<T> {
    return this.#stays.keys();
  }

  #whoMakesRoom({ origin, nowMs }: { origin: string; nowMs: number }): T | null {
    const oldest = this.#oldestOfFullest();
    if (oldest === null) return null;
    const stay = this.#stays.get(oldest)!;
    const own = this.#ofOrigin.get(origin)?.size ?? 0;
    const isUnfair = this.#ofOrigin.get(stay.origin)!.size > own + 1;
    return isUnfair || nowMs - stay.sinceMs >= this.#options.shortestMs ? oldest : null;
  }

  /** Ties go to the origin whose oldest member is the oldest. */
  #oldestOfFullest(): T | null {
    let fullest: Set<T> | null = null;
    let oldest: T | null = null;
    for (const members of this.#ofOrigin.values()) {
      if (fullest !== null && members.size < fullest.size) continue;
      const [first] = members;
      if (first === undefined) continue;
      if (fullest !== null && members.size === fullest.size && !this.#isOlder(first, oldest!)) continue;
      fullest = members;
      oldest = first;
    }
    return oldest;
  }

  #isOlder(a: T, b: T): boolean {
    return this.#stays.get(a)!.sinceMs < this.#stays.get(b)!.sinceMs;
  }
}

/** An IPv4 address, or the /64 network of an IPv6 address, because a host can choose among 2^64 of those. */
export function originOf(address: string | undefined): string {
  if (address === undefined) return "unknown";
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped !== null) return mapped[1]!;
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("%")[0]!.split("::");
  const front = head === "" ? [] : head.split(":");
  const back = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - front.length - back.length);
  const groups = [...front, ...Array<string>(zeros).fill("0"), ...back];
  return `${groups.slice(0, 4).map((group) => group.toLowerCase().replace(/^0+(?=.)/, "")).join(":")}::/64`;
}
