/**
 * JSON-RPC 2.0 over one WebSocket. Every call settles. A socket that misses a deadline or sends invalid JSON-RPC is
 * never used again. It is `ws`'s, because closing the runtime's own waits forever for a dead peer's close frame
 * (measured).
 */

import * as v from "valibot";
import { WebSocket } from "ws";
import { ChainError } from "../../chain.ts";
import { RpcError } from "./rpc_error.ts";
import type { Cancel, Timers } from "./timers.ts";

interface Socket {
  send(text: string): void;
  terminate(): void;
  on(event: "open", listener: () => void): void;
  on(event: "message", listener: (data: { toString(): string }, isBinary: boolean) => void): void;
  on(event: "error", listener: (error: Error) => void): void;
  on(event: "close", listener: (code: number, reason: { toString(): string }) => void): void;
}

export interface RpcSocketOptions {
  readonly url: string;
  readonly timers: Timers;
  readonly callDeadlineMs: number;
  /** Such as a proxy. */
  readonly socketOptions?: ((url: string) => Readonly<Record<string, unknown>>) | undefined;
}

type Listener = (result: unknown) => void;

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly cancelDeadline: Cancel;
}

const answerBytesMax = 64 * 1024 * 1024; // metadata is 0.6 MB as hex, a metagraph 0.2 MB
const earlyMax = 64; // notifications before their subscription's answer

const errorSchema = v.object({ code: v.number(), message: v.string(), data: v.optional(v.unknown()) });
const messageSchema = v.union([
  v.object({ id: v.number(), error: errorSchema }),
  v.object({ id: v.number(), result: v.unknown() }),
  v.object({
    method: v.string(),
    params: v.object({ subscription: v.union([v.string(), v.number()]), result: v.optional(v.unknown()) }),
  }),
]);

export class RpcSocket {
  readonly url: string;
  /** Some time after `onBroken`. */
  readonly closed: Promise<ChainError>;
  readonly #socket: Socket;
  readonly #timers: Timers;
  readonly #callDeadlineMs: number;
  readonly #pending = new Map<number, Pending>();
  readonly #listeners = new Map<string, Listener>();
  readonly #brokenListeners: ((reason: ChainError) => void)[] = [];
  #early: { subscription: string; result: unknown }[] = [];
  #nextId = 1;
  #reason: ChainError | null = null;

  private constructor({ url, timers, callDeadlineMs, socketOptions }: RpcSocketOptions) {
    this.url = url;
    this.#timers = timers;
    this.#callDeadlineMs = callDeadlineMs;
    this.#socket = new WebSocket(url, {
      ...{ perMessageDeflate: false, maxPayload: answerBytesMax },
      ...socketOptions?.(url),
    });
    this.#socket.on("message", (data) => this.#receive(data.toString()));
    this.#socket.on(
      "error",
      (error) => this.#fail(new ChainError("unreachable", `Cannot use ${url}: ${error.message}`)),
    );
    this.closed = new Promise((resolve) => {
      this.#socket.on("close", (code) => {
        this.#fail(
          new ChainError("unreachable", `Cannot continue with ${url} as it closed the connection: code is ${code}`),
        );
        resolve(this.#reason!);
      });
    });
  }

  static async open(options: RpcSocketOptions): Promise<RpcSocket> {
    const rpc = new RpcSocket(options);
    const opened = new Promise<true>((resolve) => rpc.#socket.on("open", () => resolve(true)));
    const cancel = options.timers.after(options.callDeadlineMs, () => rpc.terminate(rpc.#late("the handshake")));
    const outcome = await Promise.race([opened, rpc.closed]);
    cancel();
    if (outcome !== true) throw outcome;
    return rpc;
  }

  get isOpen(): boolean {
    return this.#reason === null;
  }

  onBroken(listener: (reason: ChainError) => void): void {
    if (this.#reason === null) this.#brokenListeners.push(listener);
    else listener(this.#reason);
  }

  /** `RpcError`: refused by the node. `ChainError`: cannot be queried. */
  call(method: string, params: readonly unknown[]): Promise<unknown> {
    return this.#request({ method, params }, () => {});
  }

  async subscribe(
    options: { method: string; unsubscribe: string; params: readonly unknown[] },
    listener: Listener,
  ): Promise<() => void> {
    const { method, unsubscribe, params } = options;
    // In the answer's turn: the first notification may be in the same read.
    const id = await this.#request({ method, params }, (result) => this.#listen(String(result), listener));
    return () => {
      if (!this.#listeners.delete(String(id)) || !this.isOpen) return;
      this.call(unsubscribe, [id]).catch(() => {/* ends with the socket */});
    };
  }

  terminate(reason: ChainError): void {
    this.#fail(reason);
  }

  #request(
    { method, params }: { method: string; params: readonly unknown[] },
    answered: (result: unknown) => void,
  ): Promise<unknown> {
    if (this.#reason !== null) return Promise.reject(this.#reason);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const cancelDeadline = this.#timers.after(this.#callDeadlineMs, () => this.#fail(this.#late(method)));
      const settle = (result: unknown) => {
        answered(result);
        resolve(result);
      };
      this.#pending.set(id, { resolve: settle, reject, cancelDeadline });
      this.#socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
  }

  #receive(text: string): void {
    if (this.#reason !== null) return;
    const message = parseMessage(text);
    if (message === null) {
      return this.#fail(new ChainError("badAnswer", `${this.url} sent an invalid JSON-RPC message`));
    }
    if ("method" in message) return this.#notify(String(message.params.subscription), message.params.result);
    const pending = this.#pending.get(message.id);
    if (pending === undefined) return;
    this.#pending.delete(message.id);
    pending.cancelDeadline();
    if ("error" in message) pending.reject(rpcError(message.error));
    else pending.resolve(message.result);
  }

  #listen(subscription: string, listener: Listener): void {
    this.#listeners.set(subscription, listener);
    const waiting = this.#early.filter((each) => each.subscription === subscription);
    this.#early = this.#early.filter((each) => each.subscription !== subscription);
    for (const { result } of waiting) listener(result);
  }

  #notify(subscription: string, result: unknown): void {
    const listener = this.#listeners.get(subscription);
    if (listener !== undefined) return listener(result);
    this.#early.push({ subscription, result });
    if (this.#early.length > earlyMax) this.#early.shift();
  }

  #late(what: string): ChainError {
    const seconds = this.#callDeadlineMs / 1_000;
    return new ChainError(
      "timeout",
      `${this.url} did not answer ${what} within ${seconds} s`,
    );
  }

  #fail(reason: ChainError): void {
    if (this.#reason !== null) return;
    this.#reason = reason;
    for (const listener of this.#brokenListeners) listener(reason);
    for (const pending of this.#pending.values()) {
      pending.cancelDeadline();
      pending.reject(reason);
    }
    this.#pending.clear();
    this.#listeners.clear();
    this.#socket.terminate();
  }
}

function parseMessage(text: string): v.InferOutput<typeof messageSchema> | null {
  try {
    const parsed = v.safeParse(messageSchema, JSON.parse(text));
    return parsed.success ? parsed.output : null;
  } catch {
    return null;
  }
}

function rpcError({ code, message, data }: v.InferOutput<typeof errorSchema>): RpcError {
  const detail = data === undefined || data === null ? "" : typeof data === "string" ? data : JSON.stringify(data);
  return new RpcError(code, message, detail);
}
