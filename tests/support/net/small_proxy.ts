/**
 * A proxy on loopback that only knows CONNECT, and reaches every name at this machine: `hub.invalid:9009` is 127.0.0.1:9009.
 *
 * Run as a program it listens at the address and port of its two arguments, connects to the addresses asked for, and prints a line
 * for each CONNECT.
 */

import { Buffer } from "node:buffer";
import { connect, createServer, type Socket } from "node:net";

export interface ProxyOptions {
  readonly host?: string;
  readonly port?: number;
  /** Where a name really is. Default: on this machine. */
  readonly resolve?: (host: string) => string;
  /** Refuses with this status line instead. */
  readonly refuses?: string;
  readonly onRequest?: (line: string) => void;
}

export interface SmallProxy {
  readonly url: string;
  /** The first line of each request, such as `CONNECT hub.invalid:9009 HTTP/1.1`. */
  readonly requests: readonly string[];
  /** The lines of each request's head. */
  readonly heads: readonly string[];
  close(): Promise<void>;
}

export async function startProxy(options: ProxyOptions = {}): Promise<SmallProxy> {
  const { host = "127.0.0.1", port = 0, resolve = () => "127.0.0.1", refuses, onRequest = () => {} } = options;
  const requests: string[] = [];
  const heads: string[] = [];
  const sockets = new Set<Socket>();
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
  };
  const server = createServer((socket) => {
    track(socket);
    let head = Buffer.alloc(0);
    const onData = (chunk: Buffer) => {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      socket.off("data", onData);
      const lines = head.subarray(0, end).toString("latin1").split("\r\n");
      requests.push(lines[0]!);
      heads.push(lines.join("\n"));
      onRequest(lines[0]!);
      const [, name, toPort] = /^CONNECT (\S+):(\d+) HTTP\/1\.1$/.exec(lines[0]!) ?? [];
      if (refuses !== undefined) return socket.end(`HTTP/1.1 ${refuses}\r\nContent-Length: 0\r\n\r\n`);
      if (name === undefined) return socket.end("HTTP/1.1 405 Only CONNECT\r\nContent-Length: 0\r\n\r\n");
      const target = connect(Number(toPort), resolve(name.replace(/^\[(.*)\]$/, "$1")));
      track(target);
      target.on("connect", () => {
        socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
        socket.pipe(target);
        target.pipe(socket);
      });
      target.on("close", () => socket.destroy());
      socket.on("close", () => target.destroy());
    };
    socket.on("data", onData);
  });
  await new Promise<void>((listening) => server.listen(port, host, listening));
  const bound = server.address();
  if (bound === null || typeof bound === "string") throw new Error("the proxy has no port");
  return {
    url: `http://${host}:${bound.port}`,
    requests,
    heads,
    close: async () => {
      const closed = new Promise<void>((done) => server.close(() => done()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

if (import.meta.main) {
  const [host, port] = Deno.args;
  await startProxy({
    host: host!,
    port: Number(port),
    resolve: (name) => name,
    onRequest: (line) => console.log(line),
  });
  console.log("listening");
}
