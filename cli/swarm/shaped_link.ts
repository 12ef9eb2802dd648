/**
 * One node's line to the orchestrator: a proxy on loopback that delays, slows and cuts. A node's connections share it.
 * A new connection takes a round trip, and each direction's end arrives behind its bytes.
 */

import type { Cancel, Random, Timers } from "../../net/timers.ts";
import { Direction, type LinkShape, mostInFlight } from "./chaos/link_shape.ts";

interface ShapedLinkOptions {
  readonly target: { readonly hostname: string; readonly port: number };
  readonly shape: LinkShape;
  readonly timers: Timers;
  readonly random: Random;
}

const readBytes = 64 * 1024;

export class ShapedLink {
  readonly #options: ShapedLinkOptions;
  readonly #listener: Deno.TcpListener;
  readonly #up: Direction;
  readonly #down: Direction;
  readonly #open = new Set<Deno.TcpConn>();

  constructor(options: ShapedLinkOptions) {
    this.#options = options;
    this.#up = new Direction(options.shape);
    this.#down = new Direction(options.shape);
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    void this.#accept();
  }

  get port(): number {
    return this.#listener.addr.port;
  }

  close(): void {
    this.#listener.close();
    for (const connection of this.#open) end(connection);
    this.#open.clear();
  }

  async #accept(): Promise<void> {
    try {
      for await (const near of this.#listener) void this.#join(near);
    } catch (error) {
      if (!(error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted)) throw error;
    }
  }

  async #join(near: Deno.TcpConn): Promise<void> {
    this.#open.add(near);
    await this.#wait(2 * this.#options.shape.delayMs);
    const far = await dial(this.#options.target);
    if (far === null || !this.#open.has(near)) return this.#drop([near, far]);
    this.#open.add(far);
    near.setNoDelay();
    far.setNoDelay();
    const cancel = this.#resetLater([near, far]);
    await Promise.all([this.#pass(near, far, this.#up), this.#pass(far, near, this.#down)]);
    cancel();
    this.#drop([near, far]);
  }

  #resetLater(ends: readonly Deno.TcpConn[]): Cancel {
    const { shape: { resetMs }, timers, random } = this.#options;
    if (resetMs === Infinity) return () => {};
    return timers.after(resetMs * (0.5 + random.unit()), () => this.#drop(ends));
  }

  #drop(ends: readonly (Deno.TcpConn | null)[]): void {
    for (const connection of ends) {
      if (connection === null || !this.#open.delete(connection)) continue;
      end(connection);
    }
  }

  async #wait(ms: number): Promise<void> {
    if (ms > 0) await new Promise<void>((resolve) => this.#options.timers.after(ms, resolve));
  }

  /** Reads ahead of what has arrived, as far as the line holds bytes. */
  async #pass(from: Deno.TcpConn, to: Deno.TcpConn, direction: Direction): Promise<void> {
    const { shape, timers, random } = this.#options;
    const most = mostInFlight(shape);
    let inFlight = 0;
    let room: PromiseWithResolvers<void> | null = null;
    let last = Promise.resolve();
    let isBroken = false;
    const deliver = async (bytes: Uint8Array, atMs: number, before: Promise<void>) => {
      await this.#wait(atMs - timers.steadyMs());
      await before;
      if (!isBroken) isBroken = !await written(to, bytes);
      inFlight -= bytes.length;
      room?.resolve();
    };
    while (!isBroken) {
      const bytes = await read(from);
      if (bytes === null) break;
      inFlight += bytes.length;
      const atMs = direction.send(bytes.length, { nowMs: timers.steadyMs(), unit: random.unit() });
      last = deliver(bytes, atMs, last);
      while (inFlight > most && !isBroken) {
        room = Promise.withResolvers();
        await room.promise;
      }
    }
    await this.#wait(direction.send(0, { nowMs: timers.steadyMs(), unit: random.unit() }) - timers.steadyMs());
    await last;
    if (isBroken) this.#drop([from, to]);
    else await to.closeWrite().catch(isGone);
  }
}

async function dial(target: { hostname: string; port: number }): Promise<Deno.TcpConn | null> {
  try {
    return await Deno.connect(target);
  } catch (error) {
    isGone(error);
    return null; // the orchestrator is away: the node dials again
  }
}

async function read(connection: Deno.TcpConn): Promise<Uint8Array | null> {
  const buffer = new Uint8Array(readBytes);
  try {
    const count = await connection.read(buffer);
    return count === null ? null : buffer.subarray(0, count);
  } catch (error) {
    isGone(error);
    return null;
  }
}

async function written(connection: Deno.TcpConn, bytes: Uint8Array): Promise<boolean> {
  try {
    for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
    return true;
  } catch (error) {
    isGone(error);
    return false;
  }
}

function end(connection: Deno.TcpConn): void {
  try {
    connection.close();
  } catch (error) {
    isGone(error);
  }
}

/** Throws unless a side has just gone. */
function isGone(error: unknown): void {
  const { errors } = Deno;
  const known = [
    ...[errors.BadResource, errors.BrokenPipe, errors.ConnectionReset, errors.ConnectionRefused, errors.Interrupted],
    ...[errors.ConnectionAborted, errors.NotConnected, errors.UnexpectedEof],
  ];
  if (!known.some((kind) => error instanceof kind)) throw error;
}
