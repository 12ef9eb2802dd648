/**
 * One caller's messages in, answers and notifications out. The only place where an `RpcError` is caught.
 *
 * A subscription's first notification follows the answer that carries its id, even in a batch.
 */

import { ScaleError } from "../../surface/scale_bytes.ts";
import { type BadRequest, errorText, notificationText, parseMessage, type Request, resultText } from "../json_rpc.ts";
import type { Caller, Methods, NodeParts, Subscription } from "../methods/method.ts";
import { invalidParams, methodNotFound, needsSocket, RpcError, tooManySubscriptions } from "../rpc_error.ts";

export interface ConnectionOptions {
  readonly node: NodeParts;
  readonly methods: Methods;
  /** Where notifications go; null: the caller cannot receive any (HTTP). */
  readonly push: ((text: string) => void) | null;
}

export class Connection implements Caller {
  readonly #options: ConnectionOptions;
  readonly #stops = new Map<string, () => void>(); // by subscription
  #starts: (() => void)[] = []; // of subscriptions whose id has not been sent yet
  #subscriptions = 0; // total so far, for ids

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** Answers a message through `send`; nothing is sent if it holds only notifications. */
  receive(text: string, send: (answer: string) => void): void {
    const { isBatch, requests } = parseMessage(text, this.#options.node.limits);
    const answers = requests.map((request) => this.#answer(request)).filter((answer) => answer !== null);
    if (answers.length > 0) send(isBatch ? `[${answers.join(",")}]` : answers[0]!);
    const starts = this.#starts;
    this.#starts = [];
    for (const start of starts) start();
  }

  close(): void {
    for (const stop of this.#stops.values()) stop();
    this.#stops.clear();
    this.#starts = [];
  }

  subscribe({ notification, start }: Subscription): string {
    const { push, node } = this.#options;
    if (push === null) throw needsSocket();
    if (this.#stops.size >= node.limits.subscriptions) throw tooManySubscriptions(node.limits.subscriptions);
    const id = `s${++this.#subscriptions}`;
    this.#stops.set(id, () => {});
    this.#starts.push(() => {
      if (!this.#stops.has(id)) return; // already cancelled
      this.#stops.set(id, start((result) => push(notificationText(notification, { subscription: id, result }))));
    });
    return id;
  }

  unsubscribe(id: unknown): boolean {
    const stop = typeof id === "string" ? this.#stops.get(id) : undefined;
    if (stop === undefined) return false;
    stop();
    return this.#stops.delete(id as string);
  }

  #answer(request: Request | BadRequest): string | null {
    if ("error" in request) return errorText(request.id, request.error);
    const { id, method, params } = request;
    const { methods, node } = this.#options;
    try {
      if (!Object.hasOwn(methods, method)) throw methodNotFound();
      const result = methods[method]!(params, node, this);
      return id === undefined ? null : resultText(id, result);
    } catch (error) {
      const known = error instanceof ScaleError ? invalidParams(error.message) : error;
      if (!(known instanceof RpcError)) throw error; // our own bug
      return id === undefined ? null : errorText(id, known);
    }
  }
}
