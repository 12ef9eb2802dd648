/**
 * Limits unauthenticated connections: little memory, little time, and no guaranteed slot.
 *
 * A connection is a stranger until its hello is verified, or, over HTTP, whenever it has no authenticated request in
 * progress. It has `helloMs` for each operation, and may send only a hello's bytes on a WebSocket and few requests at
 * once.
 */

import type { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Crowd, originOf } from "./crowd.ts";
import type { NetLimits } from "../limits.ts";
import type { Cancel, Timers } from "../timers.ts";

type DoorLimits = Pick<
  NetLimits,
  "strangers" | "crowdedMs" | "helloMs" | "helloBytes" | "strangerReads" | "requestsAtOnce"
>;

interface Caller {
  readonly socket: Socket;
  readonly origin: string;
  cancel: Cancel; // of its timeout; runs while it is a stranger
  requests: number;
  isTurnedAway: boolean;
}

const busy = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/** Two hellos, because a second one follows an unusable ticket; a ping or two. */
const helloRoom = (limits: DoorLimits): number => 2 * limits.helloBytes + 1024;

function sayBusy(socket: Socket): void {
  socket.end(busy);
  socket.destroySoon();
}

/** How long a connection without room may wait for that answer. */
const turnedAwayMs = 500;

/** Even if there are very few descriptors. */
const fewestStrangers = 16;

/** Time for a refused client to receive the reason. */
const goodbyeMs = 2_500;

export class Door {
  readonly #limits: DoorLimits;
  readonly #timers: Timers;
  readonly #strangers: Crowd<Caller>;
  readonly #callers = new Map<Socket, Caller>();
  readonly #mostConnections: number;
  readonly #mostTurnedAway: number;
  #turnedAway = 0; // but not closed yet
  #mostStrangers: number; // below the limit after descriptors ran out

  /** `mostTurnedAway`: connections beyond `mostConnections` that may wait to be told that there is no room. */
  constructor(options: { limits: DoorLimits; timers: Timers; mostConnections: number; mostTurnedAway: number }) {
    const { limits, timers, mostConnections, mostTurnedAway } = options;
    this.#limits = limits;
    this.#timers = timers;
    this.#mostConnections = mostConnections;
    this.#mostTurnedAway = mostTurnedAway;
    this.#mostStrangers = limits.strangers;
    this.#strangers = new Crowd({ most: limits.strangers, shortestMs: limits.crowdedMs });
  }

  get connections(): number {
    return this.#callers.size;
  }

  get strangers(): number {
    return this.#strangers.size;
  }

  get mostStrangers(): number {
    const nodes = this.#callers.size - this.#strangers.size;
    return Math.max(fewestStrangers, Math.min(this.#mostStrangers, this.#mostConnections - nodes));
  }

  enter(socket: Socket): void {
    const origin = originOf(socket.remoteAddress);
    const caller: Caller = { socket, origin, cancel: () => {}, requests: 0, isTurnedAway: false };
    this.#callers.set(socket, caller);
    socket.on("close", () => {
      this.#callers.delete(socket);
      this.#leaveCrowd(caller);
    });
    socket.on("error", () => socket.destroy());
    this.#joinCrowd(caller);
  }

  /** False: do not answer; its connection is closed. */
  takesRequest(request: IncomingMessage, response: ServerResponse): boolean {
    const caller = this.#callers.get(request.socket);
    if (caller?.isTurnedAway) {
      sayBusy(caller.socket);
      return false;
    }
    if (caller === undefined || ++caller.requests > this.#limits.requestsAtOnce) {
      request.socket.destroy();
      return false;
    }
    this.#waitFor(caller, this.#limits.helloMs);
    response.on("close", () => {
      caller.requests--;
      if (!request.complete) return this.#sendOff(caller);
      if (this.#strangers.has(caller)) this.#waitFor(caller, this.#limits.helloMs);
      else if (this.#callers.has(caller.socket)) this.#joinCrowd(caller);
    });
    return true;
  }

  trust(socket: Socket): void {
    const caller = this.#callers.get(socket);
    if (caller !== undefined && !caller.isTurnedAway) this.#leaveCrowd(caller);
  }

  /** A connection that becomes a WebSocket. Null: refused and closed. `trust` lifts the limits for strangers. */
  takesUpgrade(socket: Socket): { readonly origin: string; readonly trust: () => void } | null {
    const caller = this.#callers.get(socket);
    if (caller === undefined || caller.isTurnedAway || caller.requests > 0) {
      sayBusy(socket);
      return null;
    }
    this.#waitFor(caller, this.#limits.helloMs + goodbyeMs);
    const stopCounting = this.#countBytes(socket);
    const trust = () => {
      stopCounting();
      this.#leaveCrowd(caller);
    };
    return { origin: caller.origin, trust };
  }

  /** No descriptors are left: drops a quarter of the strangers and lowers the limit for now. Returns how many went. */
  shed(): number {
    const gone = this.#strangers.take(Math.ceil(this.#strangers.size / 4));
    this.#mostStrangers = Math.max(fewestStrangers, this.#strangers.size);
    for (const caller of gone) this.#close(caller);
    return gone.length;
  }

  ease(): void {
    this.#mostStrangers = Math.min(this.#limits.strangers, this.#mostStrangers + Math.ceil(this.#mostStrangers / 32));
  }

  close(): void {
    for (const caller of this.#callers.values()) this.#close(caller);
  }

  #joinCrowd(caller: Caller): void {
    this.#strangers.most = this.mostStrangers;
    const entry = this.#strangers.add(caller, { origin: caller.origin, nowMs: this.#timers.steadyMs() });
    if (entry.type === "refused") return this.#turnAway(caller);
    if (entry.dropped !== null) this.#close(entry.dropped);
    this.#waitFor(caller, this.#limits.helloMs);
  }

  #leaveCrowd(caller: Caller): void {
    caller.cancel();
    this.#strangers.remove(caller);
  }

  #waitFor(caller: Caller, patienceMs: number): void {
    caller.cancel();
    caller.cancel = this.#timers.after(patienceMs, () => this.#close(caller));
  }

  /** Its request was answered before its body had arrived. Closing at once could lose the answer. */
  #sendOff(caller: Caller): void {
    if (!this.#callers.has(caller.socket)) return;
    caller.isTurnedAway = true;
    caller.socket.pause();
    this.#waitFor(caller, goodbyeMs);
  }

  /** The answer waits for its request, because anything sent earlier may be lost with the connection. */
  #turnAway(caller: Caller): void {
    caller.isTurnedAway = true;
    const isShort = this.#mostStrangers < this.#limits.strangers; // short of descriptors: an answer is not worth one
    if (isShort || this.#turnedAway >= this.#mostTurnedAway) return this.#close(caller);
    this.#turnedAway++;
    caller.socket.on("close", () => this.#turnedAway--);
    this.#waitFor(caller, turnedAwayMs);
  }

  #close(caller: Caller): void {
    this.#leaveCrowd(caller);
    caller.socket.destroy();
  }

  /**
   * Enforced below the WebSocket, which would buffer up to a run's largest message. Pieces count too: each costs some
   * hundred bytes, however small.
   */
  #countBytes(socket: Socket): () => void {
    let bytes = 0;
    let reads = 0;
    const count = (chunk: Buffer) => {
      bytes += chunk.length;
      if (++reads > this.#limits.strangerReads || bytes > helloRoom(this.#limits)) socket.destroy();
    };
    socket.prependListener("data", count);
    return () => void socket.off("data", count);
  }
}
