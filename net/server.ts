/**
 * One port for everything: WebSockets for the orchestrator, HTTP for blobs, status and dashboard. A message larger than
 * `frameBytes` closes its connection before it is assembled.
 */

import { plural } from "../core/plural.ts";
import type { Buffer } from "node:buffer";
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Socket as TcpSocket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { WebSocketServer } from "ws";
import { DeafWatch, type Verdict } from "./links/deaf_watch.ts";
import { originOf } from "./links/crowd.ts";
import { Door } from "./links/door.ts";
import type { NetLimits } from "./limits.ts";
import { joinSocket, type Socket, socketOptions } from "./links/socket_wire.ts";
import { type Cancel, systemTimers, type Timers } from "./timers.ts";
import type { Wire, WireHandler } from "./links/wire.ts";

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly limits: NetLimits;
  /** The limit on open files and sockets, if known. */
  readonly descriptors?: number | null;
  readonly accept: (wire: Wire) => WireHandler;
  /**
   * `trust` marks the request as an authenticated node's, so that its connection is not a stranger's until it is
   * answered. `origin` is its address's (`originOf`).
   */
  readonly fetch: (request: Request, trust: () => void, origin: string) => Response | Promise<Response>;
  readonly onNotice?: (text: string) => void;
  readonly timers?: Timers;
  /** PEM texts; without them the port speaks plain HTTP, for loopback or behind a proxy. */
  readonly tls?: { readonly certificate: string; readonly key: string };
}

/** `accept` of a port that only answers HTTP. */
export const noNodes: ListenOptions["accept"] = (wire) => {
  wire.close("no node can join here");
  return { frame: () => {}, closed: () => {} };
};

export interface Listener {
  readonly url: string; // http://host:port or https://…; sockets use ws or wss on the same port
  readonly port: number;
  close(): Promise<void>;
}

export async function listen(options: ListenOptions): Promise<Listener> {
  const { host, limits, tls, timers = systemTimers } = options;
  const { backlog, mostOpen, ...bounds } = boundsOf(options);
  const door = new Door({ limits, timers, ...bounds });
  const server = createServer(options, door);
  const sockets = new WebSocketServer({ ...socketOptions, noServer: true, maxPayload: limits.frameBytes });
  server.on("upgrade", (request: IncomingMessage, socket: TcpSocket, head: Buffer) => {
    const stranger = door.takesUpgrade(socket);
    if (stranger === null) return;
    sockets.handleUpgrade(request, socket, head, (webSocket: Socket) => {
      joinSocket(webSocket, { handle: options.accept, explain: (error) => ({ reason: error.message }), stranger });
    });
  });
  await bind(server, { ...options, backlog });
  const { port } = server.address() as AddressInfo;
  const keeper = keepOpen({ server, door, port, mostOpen, options });
  const shownHost = host.includes(":") ? `[${host}]` : host;
  return {
    url: `${tls === undefined ? "http" : "https"}://${shownHost}:${port}`,
    port,
    close: async () => {
      keeper.close();
      door.close();
      await closeServer(server, sockets);
    },
  };
}

function createServer({ fetch, limits, tls }: ListenOptions, door: Door): Server {
  const answer = getRequestListener((request, { incoming }) =>
    fetch(request, () => door.trust(incoming.socket), originOf(incoming.socket.remoteAddress))
  );
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    if (door.takesRequest(request, response)) void answer(request, response);
  };
  const bounds = { maxHeaderSize: limits.requestHeadBytes };
  const server: Server = tls === undefined
    ? createHttpServer(bounds, handle)
    : createHttpsServer({ ...bounds, cert: tls.certificate, key: tls.key }, handle);
  server.prependListener(tls === undefined ? "connection" : "secureConnection", (socket: TcpSocket) => {
    door.enter(socket);
  });
  server.on("clientError", (_error: Error, socket: TcpSocket) => {
    if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    socket.destroySoon();
  });
  return server;
}

const restMs = 20;
const noticeMs = 60_000;
const againMs = 10_000;
const anyHost: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1" };

/**
 * Reopens the port when it no longer accepts connections, and drops strangers when descriptors run out. Before that the
 * port closes for a moment: the runtime accepts every waiting connection, dozens in a few milliseconds, and closed ones
 * release their descriptors only afterwards.
 */
function keepOpen(
  { server, door, port, mostOpen, options }: {
    server: Server;
    door: Door;
    port: number;
    mostOpen: number;
    options: ListenOptions;
  },
): Keeper {
  const { host, limits, onNotice, timers = systemTimers } = options;
  const toldAtMs = new Map<Verdict, number>();
  let failedAtMs = -Infinity;
  const tell = (verdict: Verdict, text: string) => {
    const nowMs = timers.steadyMs();
    if (nowMs - (toldAtMs.get(verdict) ?? -Infinity) < noticeMs) return;
    toldAtMs.set(verdict, nowMs);
    onNotice?.(text);
  };
  // Waiting clients connect all at once, and each holds a descriptor for a moment, even if turned away.
  const reopen = () => server.listen({ port, host, backlog: Math.ceil(door.mostStrangers / 8) });
  let resume: Cancel | null = null; // the port is closed for a moment
  const rest = () => {
    if (resume !== null) return;
    server.close();
    resume = timers.after(restMs, () => {
      resume = null;
      reopen();
    });
  };
  const onVerdict = (verdict: Verdict) => {
    if (verdict === "hears") return door.ease();
    if (resume !== null) return;
    const { connections } = door;
    const isAgain = timers.steadyMs() - failedAtMs < againMs; // deaf again: too many clients came back at once
    const gone = verdict === "exhausted" || isAgain ? door.shed() : 0;
    failedAtMs = timers.steadyMs();
    if (verdict === "exhausted") {
      return tell(
        verdict,
        `Cannot accept another connection: the process has no free file descriptor; ` +
          `${plural(connections, "connection")} open, ${
            plural(gone, "unproven one")
          } closed; raise the limit (ulimit -n, LimitNOFILE= of a service)`,
      );
    }
    if (server.listening) server.close();
    reopen();
    tell(verdict, `Port ${port} no longer accepted connections and was reopened; nodes reconnect by themselves`);
  };
  const watch = new DeafWatch({
    at: () => ({ host: anyHost[host] ?? host, port }),
    everyMs: limits.deafCheckMs,
    timers,
    onVerdict,
  });
  server.on("connection", () => {
    watch.called();
    if (door.connections > mostOpen) rest();
  });
  server.on("error", (error: Error) => tell("deaf", `Cannot reopen port ${port}: ${error.message}; still trying`));
  return {
    close() {
      watch.close();
      resume?.();
    },
  };
}

interface Keeper {
  close(): void;
}

interface Bounds {
  readonly mostConnections: number;
  readonly mostTurnedAway: number;
  readonly mostOpen: number; // of any kind, including those being closed; above it no others are accepted for a moment
  readonly backlog: number;
}

/**
 * Reserves descriptors for files, for waiting clients (which connect all at once and leave one by one), and for
 * connections waiting to be told that there is no room.
 */
function boundsOf({ descriptors = null }: ListenOptions): Bounds {
  if (descriptors === null) {
    return { mostConnections: Infinity, mostTurnedAway: mostToldBusy, mostOpen: Infinity, backlog: longestBacklog };
  }
  const reserve = Math.min(largestReserve, Math.ceil(descriptors / 2));
  return {
    mostConnections: descriptors - reserve,
    mostTurnedAway: Math.min(mostToldBusy, Math.floor(reserve / 4)),
    mostOpen: descriptors - Math.floor(reserve / 2),
    backlog: Math.min(longestBacklog, Math.ceil(reserve / 4)),
  };
}

const mostToldBusy = 64;
const largestReserve = 2048;
const longestBacklog = 511; // the runtime's own choice

function bind(server: Server, { host, port, backlog }: ListenOptions & { backlog: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error & { code?: string }) => reject(bindProblem({ host, port, error }));
    server.once("error", onError);
    server.listen({ port, host, backlog }, () => {
      server.off("error", onError);
      resolve();
    });
  });
}

export class ListenError extends Error {
  override name = "ListenError";
  readonly next: string;

  constructor(message: string, options: { next: string; cause: Error }) {
    super(message, { cause: options.cause });
    this.next = options.next;
  }
}

function bindProblem(from: { host: string; port: number; error: Error & { code?: string } }): ListenError {
  const { host, port, error } = from;
  const problem = (reason: string, next: string) =>
    new ListenError(`Cannot listen on ${host.includes(":") ? `[${host}]` : host}:${port}: ${reason}`, {
      next,
      cause: error,
    });
  const code = error.code ?? error.name;
  if (/EADDRINUSE|AddrInUse/.test(code)) {
    return problem("the port is in use", "Stop what uses it, or pass another port: 0 takes any free one");
  }
  if (/EACCES|PermissionDenied/.test(code)) {
    return problem("this user may not use that port", "Pass one above 1023");
  }
  if (/EADDRNOTAVAIL|AddrNotAvailable|ENOTFOUND|EINVAL/.test(code)) {
    return problem("this machine does not have that address", "Pass one of its own, or 0.0.0.0 for all of them");
  }
  return problem(`the system refused it: ${error.message}`, "Pass another address or port");
}

async function closeServer(server: Server, sockets: WebSocketServer): Promise<void> {
  for (const socket of sockets.clients) socket.terminate();
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}
