/**
 * Seeded simulation of the network layer: the production orchestrator and nodes over wires that lose, repeat, reorder
 * and damage frames, break, go half-open, deaf or slow, with restarts and clocks that are set. The seed draws which
 * kinds of fault are on. Safety is checked with every message; then the faults stop, and everything that was sent must
 * arrive.
 *
 * SEEDS=n runs n seeds (default 64), SEED=n replays one. A failure names its seed and the line that replays it.
 */

import { assert, assertEquals } from "@std/assert";
import { keyOf, nextBelow, openStream, type Stream } from "../../core/prng.ts";
import { checkNetLimits, defaultNetLimits } from "../../net/limits.ts";
import { LinkWorld, type Member } from "../support/net/link_world.ts";
import { type FrameFaults, type Link, type LossyEnd, noFaults } from "../support/net/lossy_wire.ts";
import { ManualTimers } from "../support/net/manual_timers.ts";

const limits = checkNetLimits({
  ...defaultNetLimits,
  frameBytes: 8192,
  headerBytes: 1024,
  outboxBytes: 65_536,
  windowBytes: 16_384,
  ackEveryBytes: 4096,
  ackEveryMessages: 8,
  helloMs: 3000,
  heartbeatMs: 1000,
});

const frameFaults = ["lost", "repeated", "overtaken", "damaged"] as const;
const strikes = [
  ...["break", "half-open", "deaf", "stall", "refuse", "pause", "clock"] as const,
  ...["orchestrator restart", "node restart", "flood"] as const,
];
type Strike = typeof strikes[number];
/** With these on, sessions end, and both sides must learn it; without them none may end. */
const endSessions: readonly Strike[] = ["orchestrator restart", "node restart", "flood"];

const nodes = 3;
const tickMs = 100;
const stormMs = 40_000;
const longestRetryMs = 4_000;
const silenceMs = limits.heartbeatMs * (limits.silentHeartbeats + 1);

class Storm {
  readonly timers = new ManualTimers();
  readonly stream: Stream;
  readonly kinds: readonly Strike[];
  readonly faults: FrameFaults;
  readonly world: LinkWorld;
  readonly #floods = new Set<Member>();

  constructor(seed: number) {
    this.stream = openStream(keyOf(seed, "links"));
    this.kinds = strikes.filter(() => this.#oneIn(2));
    this.world = new LinkWorld({
      timers: this.timers,
      limits,
      nodes,
      seed,
      network: {
        stream: this.stream,
        latencyMs: 1 + this.#below(120),
        jitterMs: this.#below(200),
        bytesPerMs: 20 + this.#below(2000),
      },
    });
    const shares = frameFaults.map((fault) => [fault, this.#oneIn(3) ? this.#below(4) / 100 : 0]);
    this.faults = { ...noFaults, ...Object.fromEntries(shares) };
    this.world.network.faults = this.faults;
  }

  run(): void {
    for (const { node } of this.world.members) node.connect();
    for (let atMs = 0; atMs < stormMs; atMs += tickMs) {
      if (this.kinds.length > 0 && this.#oneIn(12)) this.#strike(this.kinds[this.#below(this.kinds.length)]!);
      this.#talk();
      this.timers.advance(tickMs);
    }
    this.#calmDown();
    this.#checkLiveness();
    if (!endSessions.some((kind) => this.kinds.includes(kind))) {
      assertEquals(this.world.lostSessions, 0, "no session may end for what a link does");
    }
    for (const retryMs of this.world.retriesMs) assert(retryMs >= 0 && retryMs <= longestRetryMs, `${retryMs}`);
  }

  /** A careful application stops at half an outbox; one that floods does not. */
  #talk(): void {
    for (const member of this.world.members) {
      const isFlooding = this.#floods.has(member);
      for (let count = isFlooding ? 40 : this.#below(3); count > 0; count--) {
        if (isFlooding || this.world.outboxBytesOf(member) < limits.outboxBytes / 2) {
          this.world.sendUp(member);
          this.world.sendDown(member);
        }
      }
    }
  }

  #strike(kind: Strike): void {
    const { world } = this;
    const member = world.members[this.#below(nodes)]!;
    const link = this.#anyLink();
    switch (kind) {
      case "break":
        return link?.break();
      case "half-open":
        return this.#halfOpen(link);
      case "deaf":
        return this.#deafen(link?.ends[this.#below(2)]);
      case "stall":
        return link?.ends[this.#below(2)]?.stallUntil(this.timers.nowMs() + this.#below(6000));
      case "refuse":
        world.network.refusing = true;
        return this.#later(5000, () => world.network.refusing = false);
      case "pause":
        return this.#pause(member);
      case "clock":
        return this.#setClock(member);
      case "orchestrator restart":
        world.stopHub(this.#oneIn(2) ? "crashed" : "shut down");
        return this.#later(3000, () => world.hub ?? world.startHub());
      case "node restart":
        return world.restartNode(member, this.#oneIn(2) ? "crashed" : "shut down");
      case "flood":
        this.#floods.add(member);
        return this.#later(2000, () => this.#floods.delete(member));
    }
  }

  /** One side learns that the link is over; nothing more reaches the other side, not even that. */
  #halfOpen(link: Link | undefined): void {
    if (link === undefined) return;
    const told = this.#below(2);
    this.#deafen(link.ends[1 - told]);
    link.ends[told]!.hangUp("broken");
  }

  #deafen(end: LossyEnd | undefined): void {
    if (end === undefined || end.isClosed || end.deafSinceMs !== null) return;
    end.deafen();
    this.#expectGone(end);
  }

  /** A side that receives nothing must give its link up in time; while paused it does not listen. */
  #expectGone(end: LossyEnd): void {
    const latestMs = Math.max(silenceMs, limits.helloMs) + this.world.network.latencyAtMostMs + 1;
    const dueMs = end.deafSinceMs! + latestMs;
    this.timers.after(dueMs - this.timers.nowMs(), () => {
      if (end.isClosed) return;
      if (end.isPaused) return void this.timers.after(1000, () => this.#expectGone(end));
      if (this.timers.nowMs() < end.deafSinceMs! + latestMs) return this.#expectGone(end);
      throw new Error(`A silent link must be given up within ${latestMs} ms`);
    });
  }

  #pause(member: Member): void {
    const { hub } = this.world;
    const { node } = member;
    const reader = this.#oneIn(2) && hub !== null ? hub : node;
    reader.pause();
    this.#later(4000, () => reader.resume());
  }

  #setClock(member: Member): void {
    const clock = this.#oneIn(2) ? this.world.hubClock : member.clock;
    clock.offsetMs += (this.#below(3) - 1) * this.#below(10) * 3_600_000;
  }

  /** Also after the faults: work already begun is completed. */
  #later(atMostMs: number, task: () => void): void {
    this.timers.after(1 + this.#below(atMostMs), task);
  }

  #calmDown(): void {
    this.world.network.faults = noFaults;
    this.#floods.clear();
    this.timers.advance(6000 + silenceMs); // stalls and pauses end, dead links are found
    this.timers.advance(limits.helloMs + longestRetryMs + 2000);
    this.timers.advance(10_000); // a full outbox on the slowest link
  }

  #checkLiveness(): void {
    const { world } = this;
    const lostBefore = world.lostSessions;
    this.#checkSettled(); // also a last message that was lost: heartbeats tell
    for (const member of world.members) {
      for (let count = 0; count < 5; count++) {
        world.sendUp(member);
        world.sendDown(member);
      }
    }
    this.timers.advance(3 * limits.heartbeatMs + 10_000);
    this.#checkSettled();
    assertEquals(world.lostSessions, lostBefore);
  }

  #checkSettled(): void {
    const { world } = this;
    for (const member of world.members) {
      const { index, up, down } = member;
      assert(member.isConnected, `node ${index} must be back`);
      assert(up.isSettled && down.isSettled, `everything of node ${index} must arrive`);
      assertEquals(world.outboxBytesOf(member), 0, `the outboxes of node ${index} must drain`);
    }
  }

  #anyLink(): Link | undefined {
    const links = [...this.world.network.links];
    return links.length === 0 ? undefined : links[this.#below(links.length)];
  }

  #below(count: number): number {
    return nextBelow(this.stream, count);
  }

  #oneIn(count: number): boolean {
    return this.#below(count) === 0;
  }
}

function simulate(seed: number): void {
  const storm = new Storm(seed);
  try {
    storm.run();
  } catch (error) {
    const faults = JSON.stringify(storm.faults);
    throw new Error(
      `Seed ${seed} failed (${
        storm.kinds.join(", ")
      } ${faults}); replay it with: SEED=${seed} make one FILE=tests/sim/link_sim_test.ts`,
      { cause: error },
    );
  }
}

const only = Deno.env.get("SEED");
const seeds = only === undefined
  ? Array.from({ length: Number(Deno.env.get("SEEDS") ?? 64) }, (_, i) => i + 1)
  : [Number(only)];

for (const seed of seeds) {
  Deno.test(`Links: seed ${seed} delivers everything once, in order, unaltered`, () => simulate(seed));
}
