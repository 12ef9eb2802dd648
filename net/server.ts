/**
 * One port for everything: WebSockets for the hub, HTTP for blobs, status and dashboard.
 *
 * Owns: the listening socket, the upgrade, and the `ws` end of a wire. Refuses: sessions (hub.ts), routes (api.ts). Invariants:
 * a message larger than `frameBytes` closes its connection before it is assembled; a connection that does not drain is cut
 * and not waited for.
 */

import { Buffer } from "node:buffer";
import { createServer as createHttpServer, type IncomingMessage, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { shorten } from "./client.ts";
import type { NetLimits } from "./limits.ts";
import type { Wire, WireHandler } from "./wire.ts";

export interface ListenOptions {
  readonly host: string;
  readonly port: number; // 0: any free one
  readonly limits: NetLimits;
  readonly accept: (wire: Wire) => WireHandler;
  readonly fetch: (request: Request) => Response | Promise<Response>;
  /** PEM texts; without them the port speaks plain HTTP, for loopback or behind a proxy. */
  readonly tls?: { readonly certificate: string; readonly key: string };
}

export interface Listener {
  readonly url: string; // http://host:port or https://…; sockets use ws or wss on the same port
  readonly port: number;
  close(): Promise<void>;
}

export async function listen(options: ListenOptions): Promise<Listener> {
  const { host, limits, tls } = options;
  const handle = getRequestListener(options.fetch);
  const server: Server = tls === undefined
    ? createHttpServer(handle)
    : createHttpsServer({ cert: tls.certificate, key: tls.key }, handle);
  const sockets = new WebSocketServer({ noServer: true, maxPayload: limits.frameBytes, perMessageDeflate: false });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => socket.destroy());
    sockets.handleUpgrade(request, socket, head, (webSocket: WebSocket) => joinWire(webSocket, options.accept));
  });
  await bind(server, options);
  const { port } = server.address() as AddressInfo;
  const shownHost = host.includes(":") ? `[${host}]` : host;
  return {
    url: `${tls === undefined ? "http" : "https"}://${shownHost}:${port}`,
    port,
    close: () => closeServer(server, sockets),
  };
}

function bind(server: Server, { host, port }: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: Error & { code?: string }) => reject(new Error(bindProblem({ host, port, error }))));
    server.listen(port, host, resolve);
  });
}

function bindProblem(from: { host: string; port: number; error: Error & { code?: string } }): string {
  const { host, port, error } = from;
  const start = `Cannot listen on ${host}:${port} as`;
  const code = error.code ?? error.name;
  if (/EADDRINUSE|AddrInUse/.test(code)) {
    return `${start} the port is in use: stop what uses it or choose another with --port`;
  }
  if (/EACCES|PermissionDenied/.test(code)) {
    return `${start} this user may not use that port: choose one above 1023 with --port`;
  }
  if (/EADDRNOTAVAIL|AddrNotAvailable|ENOTFOUND|EINVAL/.test(code)) {
    return `${start} this machine does not have that address: use 0.0.0.0 or one of its own with --host`;
  }
  return `${start} the system refused it: ${error.message}`;
}

async function closeServer(server: Server, sockets: WebSocketServer): Promise<void> {
  for (const socket of sockets.clients) socket.terminate();
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

/** More than this waiting in a socket that is to be closed, and its peer does not read. */
const drainedBytes = 1024 * 1024;

function joinWire(socket: WebSocket, accept: ListenOptions["accept"]): void {
  let closeReason: string | null = null;
  const wire: Wire = {
    send: (frame) => {
      if (socket.readyState === socket.OPEN) socket.send(frame);
    },
    close: (reason) => {
      closeReason ??= reason;
      if (socket.isPaused) socket.resume();
      if (socket.bufferedAmount > drainedBytes) socket.terminate();
      else socket.close(1000, shorten(reason));
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
  };
  const handler = accept(wire);
  socket.on("message", (data: RawData, isBinary: boolean) => {
    if (closeReason !== null) return;
    if (isBinary) handler.frame(plainBytes(data));
    else socket.close(1003, "text is not spoken here");
  });
  socket.on("error", (error: Error) => closeReason ??= error.message); // `close` follows
  socket.on("close", (code: number, reason: Buffer) => {
    handler.closed(closeReason ?? (reason.length > 0 ? reason.toString() : `the connection broke (code ${code})`));
  });
}

/** A view as Uint8Array: `subarray` and `slice` of a Buffer mean other things. */
function plainBytes(data: RawData): Uint8Array {
  const buffer = Array.isArray(data) ? Buffer.concat(data) : data;
  if (buffer instanceof ArrayBuffer) return new Uint8Array(buffer);
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}
