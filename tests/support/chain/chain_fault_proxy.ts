/**
 * A WebSocket proxy between a chain client and a node that does, on command, what goes wrong between them.
 *
 * Owns: the faults, each taken back or used up; what passed, for a test to look at; events to await instead of sleeping. It looks into
 * JSON-RPC only as far as the method. Invariant: without a command every message passes unchanged and in order.
 */

import type { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocket, WebSocketServer } from "ws";

/** As much of a `ws` socket as is used here; the package brings no types. */
interface Socket {
  readonly readyState: number;
  readonly OPEN: number;
  send(text: string): void;
  ping(): void;
  terminate(): void;
  once(event: "pong" | "close", listener: () => void): void;
  on(event: "message", listener: (data: Buffer) => void): void;
  on(event: "open" | "error" | "close", listener: () => void): void;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly result?: unknown;
  readonly params?: { readonly subscription?: string; readonly result?: unknown };
}

export interface NodeError {
  readonly code: number;
  readonly message: string;
  readonly data?: string;
}

/** The fate of one request. */
type Fate =
  | { readonly type: "swallow" } // it vanishes
  | { readonly type: "drop" } // the connection breaks before the node receives it
  | { readonly type: "dropAnswer" } // the node does it, the connection breaks before the answer
  | { readonly type: "hold"; readonly release: Promise<void> } // the answer takes a while
  | { readonly type: "refuse"; readonly error: NodeError }
  | { readonly type: "answer"; readonly result: unknown } // without the node
  | { readonly type: "garble" }; // the answer is not JSON

interface Rule {
  readonly method: string;
  readonly fate: Fate;
  times: number;
}

/** One client's connection, with the node or nodes behind it. */
interface Link {
  readonly client: Socket;
  readonly asked: Map<number, { readonly method: string; readonly fate: Fate | null }>;
  readonly versionSubscriptions: Set<string>;
  readonly nodes: Socket[];
  unanswered: number;
}

export class ChainFaultProxy {
  url = ""; // set by open
  /** Methods asked for, in order. */
  readonly requests: string[] = [];
  /** Extrinsics sent, as hex, in order. */
  readonly extrinsics: string[] = [];
  connectionsMade = 0;
  upgradesRefused = 0;
  /** Answered instead of an upgrade, as 429 of a public endpoint. */
  refusedStatus: number | null = null;
  /** The handshake gets no answer. */
  isBlackHole = false;
  /** Sockets stay open and nothing passes, in either direction. */
  isSilent = false;
  /** Calls are answered, heads are not announced. */
  hidesHeads = false;
  /** Each head is announced three times, with its predecessor in between. */
  repeatsHeads = false;
  /** The fate of sent extrinsics is not reported. */
  hidesWatches = false;
  /** What reaches the client in place of each message of the node: none, one or more; null breaks the connection. */
  alter: ((text: string) => readonly string[] | null) | null = null;
  #nodeUrl: string;
  #rules: Rule[] = [];
  readonly #links = new Set<Link>();
  readonly #raw = new Set<Duplex>();
  readonly #ignored = new Set<Duplex>(); // handshakes without an answer
  readonly #waiters: { readonly method: string; readonly resolve: () => void }[] = [];
  readonly #server: Server = createServer();
  readonly #sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  #lastHead: string | null = null;

  private constructor(nodeUrl: string) {
    this.#nodeUrl = nodeUrl;
  }

  static async open(nodeUrl: string): Promise<ChainFaultProxy> {
    const proxy = new ChainFaultProxy(nodeUrl);
    proxy.#server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      proxy.#upgrade(request, { socket, head });
    });
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    proxy.url = `ws://127.0.0.1:${(proxy.#server.address() as AddressInfo).port}`;
    return proxy;
  }

  get openConnections(): number {
    return this.#links.size;
  }

  /** Requests and handshakes whose answer a fault holds back, on connections that still stand. */
  get unanswered(): number {
    return [...this.#links].reduce((sum, link) => sum + link.unanswered, this.#ignored.size);
  }

  /** The next `times` requests for `method` meet this fate. */
  next(method: string, fate: Fate, times = 1): void {
    this.#rules.push({ method, fate, times });
  }

  /** Holds the next answer to `method` back until the returned function is called. */
  hold(method: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.next(method, { type: "hold", release: promise });
    return resolve;
  }

  /** What was said with `next` no longer counts. */
  forget(): void {
    this.#rules = [];
  }

  heal(): void {
    this.forget();
    this.refusedStatus = null;
    this.isBlackHole =
      this.isSilent =
      this.hidesHeads =
      this.repeatsHeads =
      this.hidesWatches =
        false;
    this.alter = null;
  }

  /** Resolves when `method` is asked for the next time; also "upgrade", "held" for an answer, "message" for whatever passes or ends. */
  seen(method: string): Promise<void> {
    return new Promise((resolve) => this.#waiters.push({ method, resolve }));
  }

  /** Resolves when every client has taken what was sent to it so far, or has gone; without any, when one comes. */
  async roundTrip(): Promise<void> {
    if (this.#links.size === 0) await this.seen("upgrade");
    await this.pinged();
  }

  /** Resolves when every client is known to be there, or has gone: what it left unanswered no longer counts. */
  async pinged(): Promise<void> {
    await Promise.all([...this.#links].map(({ client }) =>
      new Promise<void>((resolve) => {
        for (const event of ["pong", "close"] as const) client.once(event, resolve);
        client.ping();
      })
    ));
  }

  count(method: string): number {
    return this.requests.filter((each) => each === method).length;
  }

  /** Breaks every connection. */
  cut(): void {
    for (const { client } of this.#links) client.terminate();
  }

  /** From now on another node answers, on the same sockets; `isTold`: subscribers are notified of its version. */
  async upgradeTo(nodeUrl: string, { isTold }: { isTold: boolean }): Promise<void> {
    this.#nodeUrl = nodeUrl;
    for (const link of this.#links) {
      const node = await this.#dial(link);
      if (!isTold) continue;
      this.#announce(link, await runtimeVersionOf(node));
    }
  }

  /** Tells subscribers of a version one above the node's, which stays as it is: what an upgrade of little consequence looks like. */
  async announceUpgrade(): Promise<void> {
    for (const link of this.#links) {
      const version = await runtimeVersionOf(link.nodes.at(-1)!) as { specVersion: number };
      this.#announce(link, { ...version, specVersion: version.specVersion + 1 });
    }
  }

  /** Tells subscribers of this version. */
  announceVersion(version: unknown): void {
    for (const link of this.#links) this.#announce(link, version);
  }

  async close(): Promise<void> {
    for (const link of this.#links) for (const socket of [link.client, ...link.nodes]) socket.terminate();
    for (const socket of this.#raw) socket.destroy();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  #announce(link: Link, result: unknown): void {
    for (const subscription of link.versionSubscriptions) {
      const params = { subscription, result };
      link.client.send(JSON.stringify({ jsonrpc: "2.0", method: "state_runtimeVersion", params }));
    }
  }

  #upgrade(request: IncomingMessage, { socket, head }: { socket: Duplex; head: Buffer }): void {
    socket.on("error", () => socket.destroy());
    this.#raw.add(socket);
    socket.on("close", () => {
      this.#raw.delete(socket);
      if (this.#ignored.delete(socket)) this.#tell("message");
    });
    if (this.isBlackHole) this.#ignored.add(socket);
    this.#tell("upgrade");
    if (this.isBlackHole) return;
    if (this.refusedStatus !== null) {
      this.upgradesRefused++;
      socket.end(`HTTP/1.1 ${this.refusedStatus} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    this.#sockets.handleUpgrade(request, socket, head, (client: Socket) => this.#join(client));
  }

  #join(client: Socket): void {
    this.connectionsMade++;
    const link: Link = { client, asked: new Map(), versionSubscriptions: new Set(), nodes: [], unanswered: 0 };
    this.#links.add(link);
    const waiting: string[] = [];
    let isOpen = false;
    client.on("message", (data) => isOpen ? this.#fromClient(link, data.toString()) : waiting.push(data.toString()));
    client.on("error", () => {/* close follows */});
    client.on("close", () => {
      this.#links.delete(link);
      for (const node of link.nodes) node.terminate();
      this.#tell("message");
    });
    this.#dial(link).then(() => {
      isOpen = true;
      for (const text of waiting) this.#fromClient(link, text);
    });
  }

  #dial(link: Link): Promise<Socket> {
    const node: Socket = new WebSocket(this.#nodeUrl, { perMessageDeflate: false });
    link.nodes.push(node);
    node.on("message", (data) => this.#fromNode(link, data.toString()));
    node.on("error", () => {/* close follows */});
    return new Promise((resolve) => {
      node.on("open", () => resolve(node));
      node.on("close", () => link.client.terminate());
    });
  }

  #fromClient(link: Link, text: string): void {
    const { id, method, params } = JSON.parse(text) as { id: number; method: string; params: unknown[] };
    this.requests.push(method);
    if (method.startsWith("author_submit")) this.extrinsics.push(String(params[0]));
    const fate: Fate | null = this.isSilent ? { type: "swallow" } : this.#fateOf(method);
    link.asked.set(id, { method, fate });
    this.#meet(link, { id, text, fate });
    this.#tell(method);
  }

  #meet(link: Link, { id, text, fate }: { id: number; text: string; fate: Fate | null }): void {
    const node = link.nodes.at(-1)!;
    switch (fate?.type) {
      case "swallow":
        link.unanswered++;
        return;
      case "drop":
        return link.client.terminate();
      case "refuse":
        return link.client.send(JSON.stringify({ jsonrpc: "2.0", id, error: fate.error }));
      case "answer":
        return link.client.send(JSON.stringify({ jsonrpc: "2.0", id, result: fate.result }));
      case "garble":
        return link.client.send("<html>502 Bad Gateway</html>");
      default:
        return node.send(text);
    }
  }

  #fromNode(link: Link, text: string): void {
    const message = JSON.parse(text) as Message;
    if (this.isSilent || message.id === -1) return;
    if (message.id === undefined) return this.#notify(link, { text, message });
    const asked = link.asked.get(message.id);
    if (asked?.method === "state_subscribeRuntimeVersion") link.versionSubscriptions.add(String(message.result));
    if (asked?.fate?.type === "dropAnswer") return link.client.terminate();
    if (asked?.fate?.type !== "hold") return this.#pass(link, text);
    link.unanswered++;
    void asked.fate.release.then(() => {
      link.unanswered--;
      link.client.send(text);
    });
    this.#tell("held");
  }

  #pass(link: Link, text: string): void {
    const altered = this.alter === null ? [text] : this.alter(text);
    if (altered === null) link.client.terminate();
    for (const each of altered ?? []) link.client.send(each);
    this.#tell("message");
  }

  #notify(link: Link, { text, message }: { text: string; message: Message }): void {
    if (message.method === "author_extrinsicUpdate" && this.hidesWatches) return;
    if (message.method !== "chain_newHead") return this.#pass(link, text);
    if (this.hidesHeads) return;
    const before = this.#lastHead ?? text;
    this.#lastHead = text;
    for (const told of this.repeatsHeads ? [text, before, text] : [text]) this.#pass(link, told);
  }

  #fateOf(method: string): Fate | null {
    const rule = this.#rules.find((each) => each.method === method && each.times > 0);
    if (rule === undefined) return null;
    rule.times--;
    return rule.fate;
  }

  #tell(method: string): void {
    if (method !== "message") this.#tell("message");
    for (const waiter of this.#waiters.filter((each) => each.method === method)) {
      this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
      waiter.resolve();
    }
  }
}

function runtimeVersionOf(node: Socket): Promise<unknown> {
  const answered = new Promise<unknown>((resolve) =>
    node.on("message", (data) => {
      const { id, result } = JSON.parse(data.toString()) as Message;
      if (id === -1) resolve(result);
    })
  );
  node.send(JSON.stringify({ jsonrpc: "2.0", id: -1, method: "state_getRuntimeVersion", params: [] }));
  return answered;
}
