/**
 * JSON-RPC over WebSocket, and over HTTP POST. Messages are read up to `messageBytes`; connections that do not read
 * answers are cut.
 */

import type { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { errorText } from "../json_rpc.ts";
import type { LocalNode } from "./local_node.ts";
import { parseError } from "../rpc_error.ts";

interface RpcServerOptions {
  readonly node: LocalNode;
  readonly host: string;
  readonly port: number;
}

export interface RpcServer {
  readonly url: string; // also takes POST, as http
  readonly port: number;
  close(): Promise<void>;
}

/** The `ws` package has no types. */
interface Socket {
  readonly readyState: number;
  readonly OPEN: number;
  readonly bufferedAmount: number;
  send(text: string): void;
  terminate(): void;
  on(event: "message", listener: (data: Buffer, isBinary: boolean) => void): void;
  on(event: "error" | "close", listener: () => void): void;
}

export async function serveRpc(options: RpcServerOptions): Promise<RpcServer> {
  const { node, host } = options;
  const { messageBytes, connections } = node.limits;
  const server = createServer((request, response) => answerHttp(request, { response, node }));
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: messageBytes,
    perMessageDeflate: false,
    closeTimeout: 2_000, // then the peer counts as gone
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => socket.destroy());
    if (sockets.clients.size >= connections) return socket.end("HTTP/1.1 429 Too Many Requests\r\n\r\n");
    sockets.handleUpgrade(request, socket, head, (webSocket: Socket) => joinSocket(webSocket, node));
  });
  await bind(server, options);
  const { port } = server.address() as AddressInfo;
  const shownHost = host.includes(":") ? `[${host}]` : host;
  return { url: `ws://${shownHost}:${port}`, port, close: () => closeServer(server, sockets) };
}

function joinSocket(socket: Socket, node: LocalNode): void {
  const send = (text: string) => {
    if (socket.readyState !== socket.OPEN) return;
    if (socket.bufferedAmount > node.limits.outboxBytes) socket.terminate();
    else socket.send(text);
  };
  const connection = node.connect(send);
  socket.on("message", (data, isBinary) => {
    if (isBinary) send(errorText(null, parseError()));
    else connection.receive(data.toString(), send);
  });
  socket.on("error", () => {}); // `close` follows
  socket.on("close", () => connection.close());
}

function answerHttp(request: IncomingMessage, to: { response: ServerResponse; node: LocalNode }): void {
  const { response, node } = to;
  const answer = (status: number, body: string) => {
    response.writeHead(status, { "content-type": body.startsWith("{") || body.startsWith("[") ? json : plain });
    response.end(body);
  };
  if (request.method === "GET" && request.url === "/health") return answer(200, health);
  if (request.method !== "POST") return answer(405, "Used HTTP Method is not allowed. POST is required\n");
  const parts: Uint8Array[] = [];
  let bytes = 0;
  request.on("data", (part: Buffer) => {
    bytes += part.length;
    if (bytes <= node.limits.messageBytes) parts.push(part);
  });
  request.on("error", () => {}); // the caller has gone
  request.on("end", () => {
    if (bytes > node.limits.messageBytes) return answer(413, "The request must be smaller\n");
    let answered = false;
    node.connect(null).receive(textOf(parts), (text) => {
      answered = true;
      answer(200, text);
    });
    if (!answered) answer(204, "");
  });
}

const json = "application/json; charset=utf-8";
const plain = "text/plain; charset=utf-8";
const health = JSON.stringify({ peers: 0, isSyncing: false, shouldHavePeers: false });

function textOf(parts: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  return parts.map((part) => decoder.decode(part, { stream: true })).join("") + decoder.decode();
}

function bind(server: Server, { host, port }: RpcServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject); // the caller words it
    server.listen(port, host, resolve);
  });
}

async function closeServer(server: Server, sockets: WebSocketServer): Promise<void> {
  for (const socket of sockets.clients) socket.terminate();
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}
