/** Starts an orchestrator in a process of its own (attacked_hub_main.ts) and asks for its state. */

import { WebSocket } from "ws";
import { defaultNetLimits, type NetLimits } from "../../../net/limits.ts";
import { Node } from "../../../net/links/node.ts";
import { joinSocket, type Socket, socketOptions } from "../../../net/links/socket_wire.ts";
import { systemRandom, systemTimers } from "../../../net/timers.ts";
import type { NodeEvent } from "../../../net/links/transport.ts";
import type { Dial } from "../../../net/links/wire.ts";
import { TextLineStream } from "../../../cli/program/text_lines.ts";
import { type Note, readNote } from "../../conformance/transport_world.ts";
import { EventLog } from "../event_log.ts";
import { LinkControl } from "../net/link_control.ts";
import { testSigner, testVerify } from "../net/test_keys.ts";

const root = new URL("../../..", import.meta.url).pathname;
const main = new URL("./attacked_hub_main.ts", import.meta.url).pathname;

export interface HubLine {
  readonly type: string;
  readonly [key: string]: unknown;
}

export interface AttackedHubOptions {
  readonly limits?: Partial<NetLimits>;
  readonly descriptors?: number; // files and sockets that the process may have open
  readonly knowsDescriptors?: boolean; // and it knows that number
}

export class AttackedHub {
  readonly lines = new EventLog<HubLine>();
  readonly #process: Deno.ChildProcess;
  readonly #stdin: WritableStreamDefaultWriter<Uint8Array>;
  readonly #read: Promise<void>;
  port = 0;

  private constructor({ limits = {}, descriptors, knowsDescriptors = false }: AttackedHubOptions) {
    const command = [Deno.execPath(), "run", "--quiet", "--no-check", "--allow-all", "--v8-flags=--expose-gc"];
    const words = [...command, "--config", `${root}deno.json`, main];
    const told = knowsDescriptors ? { descriptors } : {};
    const bound = descriptors === undefined ? "" : `ulimit -n ${descriptors}; `;
    this.#process = new Deno.Command("sh", {
      args: ["-c", `${bound}exec "$@"`, "sh", ...words, JSON.stringify({ ...limits, ...told })],
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#stdin = this.#process.stdin.getWriter();
    this.#read = this.#readLines();
  }

  static async start(options: AttackedHubOptions = {}): Promise<AttackedHub> {
    const hub = new AttackedHub(options);
    hub.port = Number((await hub.lines.next("listening"))["port"]);
    return hub;
  }

  /** Bytes in memory, after collecting garbage. */
  async residentBytes(): Promise<number> {
    await this.#stdin.write(new TextEncoder().encode("memory\n"));
    return Number((await this.lines.next("memory"))["rss"]);
  }

  notices(): string[] {
    return this.lines.all.filter(({ type }) => type === "notice").map(({ text }) => String(text));
  }

  async stop(): Promise<void> {
    await this.#stdin.close();
    await this.#read;
    await this.#process.status;
  }

  async #readLines(): Promise<void> {
    const lines = this.#process.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
    for await (const line of lines) this.lines.push(JSON.parse(line) as HubLine);
  }
}

export interface Newcomer {
  readonly node: Node<Note, Note>;
  readonly link: LinkControl;
  readonly events: EventLog<NodeEvent<Note>>;
}

/** A well-behaved node, from one of this machine's addresses. */
export function newcomer({ port }: { port: number }, seed: number, from = "127.0.0.1"): Newcomer {
  const link = new LinkControl(dialFrom(from));
  const events = new EventLog<NodeEvent<Note>>();
  const node = new Node<Note, Note>({
    url: `ws://127.0.0.1:${port}`,
    identity: { signer: testSigner(seed), role: "miner", run: "test", hub: testSigner(200).address },
    verify: testVerify,
    read: readNote,
    limits: defaultNetLimits,
    timers: systemTimers,
    random: systemRandom,
    onEvent: events.push,
  }, link.dial);
  node.connect();
  return { node, events, link };
}

function dialFrom(localAddress: string): Dial {
  return (url, handler) => {
    const socket: Socket = new WebSocket(url, { ...socketOptions, localAddress });
    socket.on("open", () => handler.opened());
    return joinSocket(socket, { handle: () => handler, explain: (error) => ({ reason: error.message }) });
  };
}

/** How long the newcomer took, or an error when `mostMs` have passed. */
export async function joinedMs(from: Newcomer, mostMs: number): Promise<number> {
  const startedMs = performance.now();
  const late = Promise.withResolvers<never>();
  const signal = AbortSignal.timeout(mostMs);
  signal.addEventListener("abort", () => late.reject(new Error(`no hello was done within ${mostMs} ms`)));
  await Promise.race([from.events.next("connected"), late.promise]);
  return performance.now() - startedMs;
}
