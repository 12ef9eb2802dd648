/**
 * A TCP connection to a host through a proxy, by HTTP's CONNECT (RFC 9110, section 9.3.6).
 *
 * `done` is called exactly once; a socket that is not handed over is destroyed.
 */

import type { Buffer } from "node:buffer";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { systemTimers } from "../timers.ts";
import type { Proxy } from "./proxy_choice.ts";

export class ProxyError extends Error {
  override name = "ProxyError";
}

export type TunnelDone = (error: Error | null, socket?: Socket) => void;

const answerBytesMax = 16 * 1024; // common servers accept as much in a head
const answerMs = 20_000; // the proxy resolves a name and dials, as long as a system's own attempt to connect takes

/** `target`: `host:port`, with brackets around an IPv6 address. */
export function openTunnel({ proxy, target }: { proxy: Proxy; target: string }, done: TunnelDone): void {
  const { host, port, isTls, authorization } = proxy;
  const socket: Socket = isTls ? connectTls({ host, port, servername: host }) : connect(port, host);
  let head = "";
  const settle = (error: Error | null) => {
    cancel();
    socket.off("data", onData);
    socket.off("error", onError);
    socket.off("close", onClose);
    if (error === null) return done(null, socket);
    socket.on("error", () => {/* already settled */});
    socket.destroy();
    done(error);
  };
  const onError = (error: Error) => settle(new ProxyError(`${named(proxy)} cannot be reached: ${error.message}`));
  const onClose = () => settle(new ProxyError(`${named(proxy)} closed the connection without an answer`));
  const onData = (chunk: Buffer) => {
    head += chunk.toString("latin1");
    if (head.includes("\r\n\r\n")) settle(refusalIn(head, { proxy, target }));
    else if (head.length > answerBytesMax) settle(new ProxyError(`${named(proxy)} does not answer as an HTTP proxy`));
  };
  const late = `${named(proxy)} gave no answer to CONNECT ${target} within ${answerMs / 1_000} s`;
  const cancel = systemTimers.after(answerMs, () => settle(new ProxyError(late)));
  socket.on("error", onError);
  socket.on("close", onClose);
  socket.on("data", onData);
  socket.once(isTls ? "secureConnect" : "connect", () => {
    const proof = authorization === null ? "" : `Proxy-Authorization: ${authorization}\r\n`;
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${proof}\r\n`);
  });
}

function refusalIn(head: string, { proxy, target }: { proxy: Proxy; target: string }): ProxyError | null {
  const status = head.slice(0, head.indexOf("\r\n"));
  const code = Number(/^HTTP\/1\.\d (\d{3})/.exec(status)?.[1]);
  if (code >= 200 && code < 300) return null;
  const said = status.replace(/^HTTP\/1\.\d /, "").replace(/[^\x20-\x7e]/g, "").slice(0, 80);
  const cure = code === 407
    ? `; put the name and password into it: ${proxy.variable}=http://NAME:PASSWORD@HOST:PORT`
    : "";
  return new ProxyError(`${named(proxy)} answered '${said}' to CONNECT ${target}${cure}`);
}

const named = ({ shown, variable }: Proxy): string => `the proxy ${shown} (${variable})`;
