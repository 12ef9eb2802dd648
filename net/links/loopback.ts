/**
 * The in-memory transport between an orchestrator and nodes of one process, for `sim` and tests.
 *
 * Wires deliver in order, one frame per turn of `schedule`. Frames are copied, so neither side can change the other's
 * data.
 */

import type { Dial, Wire, WireHandler } from "./wire.ts";

type Schedule = (task: () => void) => void;

/** Every dial reaches this orchestrator, whatever the url. */
export function createLoopback(accept: (wire: Wire) => WireHandler, schedule: Schedule = queueMicrotask): Dial {
  return (_url, handler) => {
    const nodeEnd = new LoopbackWire(schedule);
    const hubEnd = new LoopbackWire(schedule);
    nodeEnd.join(hubEnd);
    hubEnd.join(nodeEnd);
    nodeEnd.report(handler);
    schedule(() => {
      if (nodeEnd.isClosed) return;
      handler.opened();
      hubEnd.report(accept(hubEnd));
    });
    return nodeEnd;
  };
}

type Arrival = { readonly type: "frame"; readonly bytes: Uint8Array } | {
  readonly type: "end";
  readonly reason: string;
};

class LoopbackWire implements Wire {
  readonly bufferedBytes = 0;
  readonly #schedule: Schedule;
  #other: LoopbackWire | null = null;
  #handler: WireHandler | null = null;
  #arrivals: Arrival[] = [];
  #paused = false;
  #closed = false;

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  join(other: LoopbackWire): void {
    this.#other = other;
  }

  /** Frames that arrive before there is a handler wait for it. */
  report(handler: WireHandler): void {
    this.#handler = handler;
    this.resume();
  }

  send(frame: Uint8Array): void {
    if (this.#closed) return;
    this.#other?.arrive({ type: "frame", bytes: frame.slice() });
  }

  close(reason: string): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#arrivals = [{ type: "end", reason }];
    this.#paused = false;
    this.#schedule(() => this.#deliver());
    this.#other?.arrive({ type: "end", reason });
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    for (let waiting = this.#arrivals.length; waiting > 0; waiting--) this.#schedule(() => this.#deliver());
  }

  arrive(arrival: Arrival): void {
    if (this.#closed) return;
    this.#arrivals.push(arrival);
    this.#schedule(() => this.#deliver());
  }

  /** If the wire is paused, the frame stays for the turns that `resume` schedules. */
  #deliver(): void {
    if (this.#paused || this.#handler === null) return;
    const arrival = this.#arrivals.shift();
    if (arrival === undefined) return;
    if (arrival.type === "frame") return this.#handler.frame(arrival.bytes);
    this.#closed = true;
    this.#arrivals = [];
    this.#handler.closed(arrival.reason);
  }
}
