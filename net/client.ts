/**
 * Dials the orchestrator.
 *
 * Owns: `dialWebSocket`, and the sentence for an orchestrator that cannot be reached. Out of scope: retries and sessions (node.ts),
 * a bound on what is sent (the session's window keeps what the socket buffers below `windowBytes` plus a frame).
 */

import { WebSocket } from "ws";
import { defaultNetLimits } from "./limits.ts";
import { joinSocket, type Socket, socketOptions } from "./socket_wire.ts";
import type { Dial, DialHandler, Wire } from "./wire.ts";

export function dialWebSocket(url: string, handler: DialHandler): Wire {
  return dial(url, handler, {});
}

/** Trusts this authority (PEM) instead of the system's: for a certificate that signs itself. */
export function dialTrusting(authority: string): Dial {
  return (url, handler) => dial(url, handler, { ca: authority });
}

function dial(url: string, handler: DialHandler, tls: { ca?: string }): Wire {
  const socket: Socket = new WebSocket(url, { ...socketOptions, ...tls, maxPayload: defaultNetLimits.frameBytes });
  socket.on("open", () => handler.opened());
  return joinSocket(socket, { handle: () => handler, explain: (error) => unreachable(url, error) });
}

const otherScheme = (url: string) => url.startsWith("wss:") ? url.replace("wss:", "ws:") : url.replace("ws:", "wss:");

/** A name beside this one, or a way of speaking, decides what a person has to change; the rest is the system's own words. */
function unreachable(url: string, error: Error & { code?: unknown }): string {
  const start = `Cannot reach the orchestrator at ${url}`;
  switch (error.code) {
    case "HPE_INVALID_CONSTANT": // a TLS alert where an answer in HTTP was due
      return `${start} as ws:// needs a port without TLS and this one answers otherwise: ` +
        `use --orchestrator ${otherScheme(url)}`;
    case "ERR_SSL_WRONG_VERSION_NUMBER":
      return `${start} as wss:// needs a port with TLS and this one has none: use --orchestrator ${otherScheme(url)}`;
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
    case "SELF_SIGNED_CERT_IN_CHAIN":
    case "UNABLE_TO_GET_ISSUER_CERT":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
      return `${start} as its certificate must be trusted here: copy that certificate to this machine and use --tls-ca FILE`;
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return `${start} as its certificate must name this address: use an address that it names, or give the hub another one`;
    default:
      return `${start}: ${error.message}; check that it runs there and that the address is right`;
  }
}
