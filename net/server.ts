/**
 * One port for everything: WebSockets for the hub, HTTP for blobs, status and dashboard.
 *
 * Owns: the listening socket and the upgrade. Refuses: sessions (hub.ts), routes (api.ts). Invariant: a message larger than
 * `frameBytes` closes its connection before it is assembled.
 */

import type { Buffer } from "node:buffer";
import { createServer as createHttpServer, type IncomingMessage, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import { WebSocketServer } from "ws";
import type { NetLimits } from "./limits.ts";
import { joinSocket, type Socket, socketOptions } from "./socket_wire.ts";
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
  const sockets = new WebSocketServer({ ...socketOptions, noServer: true, maxPayload: limits.frameBytes });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => socket.destroy());
    sockets.handleUpgrade(request, socket, head, (webSocket: Socket) => {
      joinSocket(webSocket, { handle: options.accept, explain: (error) => error.message });
    });
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
