/**
 * Segments relayed from one node to another. A turn counts when the sink's answer is back.
 *
 * `session` uses our session layer, which hashes every segment for its MAC; "hashed" also holds segments by hash,
 * "journaled" also makes each one's event durable before it continues. `ws` is the bare WebSocket library: the limit on
 * this machine. Each end is a process.
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { randomBytes } from "node:crypto";
import { WebSocketServer } from "ws";
import { hotkeyOfMiniSecret, verifySignature } from "../../../chain/wallet/hotkey.ts";
import { microbatchId, type NodeId, stageIndex, taskId } from "../../../core/ids.ts";
import type { HubMessage, NodeMessage, RunTask } from "../../../core/protocol/message.ts";
import { Hub } from "../../../net/links/hub.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { readNodeMessage } from "../../../net/messages/schema_node.ts";
import { listen } from "../../../net/server.ts";
import { type Socket, socketOptions } from "../../../net/links/socket_wire.ts";
import { systemRandom, systemTimers } from "../../../net/timers.ts";
import type { HubEvent, Received } from "../../../net/links/transport.ts";
import { byteSegments } from "../../roles/segments.ts";
import { hubTickets } from "../../orchestrator/hub/hub_tickets.ts";
import { type Measured, Meter } from "./meter.ts";
import { frameOverheadBytes, roleOfPart } from "./peer.ts";
import { betweenPeers } from "./peer_processes.ts";
import { setImmediate } from "node:timers";
import { JournalThread } from "../../orchestrator/journal/journal_thread.ts";
import { Driver } from "../../roles/driver.ts";

export type RelayWay = "session" | "session, hashed" | "session, journaled" | "ws";

interface RelayOptions {
  readonly way: RelayWay;
  readonly segmentBytes: number;
  readonly seconds: number;
  readonly signal: AbortSignal;
}

const inFlightBytes = 16 * 1024 * 1024;

/** Fills the pipes, bounded as credits bound a miner. */
const turnsAtOnce = (segmentBytes: number) => Math.min(64, Math.max(4, Math.round(inFlightBytes / segmentBytes)));

interface MeasuredRelay extends Measured {
  readonly eventsPerCommit?: number; // journaled only
}

export async function measureRelay(options: RelayOptions): Promise<MeasuredRelay> {
  return options.way === "ws" ? await relayBare(options) : await relayBySessions(options);
}

export const sampleTask: RunTask = {
  type: "runTask",
  task: taskId({ microbatch: microbatchId(12), stage: stageIndex(1), direction: "forward", attempt: 0 }),
  microbatch: microbatchId(12),
  stage: stageIndex(1),
  direction: "forward",
  step: 3,
};

async function relayBySessions({ way, segmentBytes, seconds, signal }: RelayOptions): Promise<MeasuredRelay> {
  const isHolding = way !== "session";
  const journal = way === "session, journaled" ? await openRelayJournal() : null;
  const relay = new SessionRelay({ segmentBytes, isHolding, journal, meter: new Meter(seconds) });
  const listener = await listen({
    host: "127.0.0.1",
    port: 0,
    limits: defaultNetLimits,
    accept: (wire) => relay.hub.accept(wire),
    fetch: () => new Response(),
  });
  try {
    const url = listener.url.replace("http", "ws");
    const spec = { url, over: "session", segmentBytes } as const;
    const measured = await betweenPeers(spec, { measure: relay.meter.done, seconds, signal });
    return journal === null ? measured : { ...measured, eventsPerCommit: journal.eventsPerCommit };
  } finally {
    relay.hub.shutDown("benchmark over");
    await listener.close();
    await journal?.close();
  }
}

interface SessionRelayOptions {
  readonly segmentBytes: number;
  readonly isHolding: boolean;
  readonly journal: RelayJournal | null;
  readonly meter: Meter;
}

class SessionRelay {
  readonly hub: Hub<NodeMessage, HubMessage>;
  readonly meter: Meter;
  readonly #options: SessionRelayOptions;
  readonly #segments = byteSegments();
  readonly #nodes = new Map<string, NodeId>();

  constructor(options: SessionRelayOptions) {
    this.#options = options;
    this.meter = options.meter;
    const signer = hotkeyOfMiniSecret(new Uint8Array(randomBytes(32)));
    this.hub = new Hub<NodeMessage, HubMessage>({
      run: "bench",
      signer,
      verify: verifySignature,
      admit: () => null,
      tickets: hubTickets(signer, "bench"),
      read: readNodeMessage,
      limits: defaultNetLimits,
      timers: systemTimers,
      random: systemRandom,
      onEvent: (event) => this.#onEvent(event),
    });
  }

  #onEvent(event: HubEvent<NodeMessage>): void {
    if (event.type === "peerConnected") {
      this.#nodes.set(event.role, event.peer);
      if (this.#nodes.size < 2) return;
      for (let turns = turnsAtOnce(this.#options.segmentBytes); turns > 0; turns--) this.#begin();
    } else if (event.type === "message" && event.peer === this.#nodes.get(roleOfPart.source)) {
      this.#relay(event);
    } else if (event.type === "message") {
      this.meter.count(this.#options.segmentBytes);
      this.#begin();
    }
  }

  #begin(): void {
    this.hub.send(this.#nodes.get(roleOfPart.source)!, sampleTask);
  }

  #relay({ segments, names }: Received<NodeMessage>): void {
    const sink = this.#nodes.get(roleOfPart.sink)!;
    if (!this.#options.isHolding) {
      const named = segments.map((bytes, index) => ({ bytes, hash: names[index]! }));
      return void this.hub.send(sink, sampleTask, named);
    }
    const refs = this.#segments.take({ segments, names });
    const goOn = () => {
      this.hub.send(sink, sampleTask, refs.map((ref) => this.#segments.named(ref)));
      this.#segments.release(refs);
    };
    const { journal } = this.#options;
    if (journal === null) goOn();
    else journal.book(goOn);
  }
}

async function relayBare({ segmentBytes, seconds, signal }: RelayOptions): Promise<Measured> {
  const meter = new Meter(seconds);
  const server = createServer();
  const sockets = new WebSocketServer({ ...socketOptions, server, maxPayload: defaultNetLimits.frameBytes });
  const ends = new Map<string, Socket>();
  const begin = () => ends.get("/source")!.send(new Uint8Array(frameOverheadBytes));
  sockets.on("connection", (socket: Socket, request: { url: string }) => {
    ends.set(request.url, socket);
    const isSource = request.url === "/source";
    socket.on("message", (data) => {
      if (isSource) return ends.get("/sink")!.send(data as Uint8Array);
      meter.count(segmentBytes);
      begin();
    });
    if (ends.size === 2) { for (let turns = turnsAtOnce(segmentBytes); turns > 0; turns--) begin(); }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return await betweenPeers({ url, over: "ws", segmentBytes }, { measure: meter.done, seconds, signal });
  } finally {
    for (const socket of sockets.clients) socket.terminate();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

/**
 * The production journal and driver, as while a step is open: events of wires that arrive together become durable
 * before the wires go on. The wires stay in memory.
 */
interface RelayJournal {
  book(onDurable: () => void): void;
  readonly eventsPerCommit: number;
  close(): Promise<void>;
}

const eventBytes = 300; // a finished task's
const progress = { round: 1, step: 1 };

async function openRelayJournal(): Promise<RelayJournal> {
  const folder = Deno.makeTempDirSync({ prefix: "iota-bench-" });
  const identity = { run: "bench", program: "bench", config: "bench" };
  const state = new Uint8Array(2 ** 20);
  const options = { path: `${folder}/journal.db`, identity, maxBytes: 2 ** 32 };
  const { thread } = await JournalThread.open({ ...options, onSnapshotWanted: () => thread.snapshot(state, progress) });
  thread.snapshot(state, progress);
  let isClosed = false;
  let events = 0;
  const driver = new Driver<null, () => void, () => void>({
    machine: { step: (_, onDurable) => [onDurable], nextDeadlineMs: () => null, assertInvariants() {} },
    state: null,
    perform: (onDurable) => onDurable(),
    commit: (batch) => {
      events += batch.length;
      const entries = batch.map(({ nowMs }) => ({ nowMs, event: new Uint8Array(eventBytes) }));
      return thread.append(entries, progress).durable.promise;
    },
    isBehind: () => thread.isBehind,
    tick: null,
    timers: systemTimers,
    inboxMessages: 4096,
    onPressure() {},
    onFailure(error) {
      throw error;
    },
    gather: (callback) => setImmediate(() => isClosed || callback()),
  });
  return {
    get eventsPerCommit() {
      return events / thread.writes;
    },
    book: (onDurable) => driver.enqueue(onDurable),
    async close() {
      isClosed = true;
      driver.close();
      await thread.close();
      Deno.removeSync(folder, { recursive: true });
    },
  };
}
