/** Dials the orchestrator over a `ws` socket, directly or through a proxy, and explains why it is unreachable. */

import { WebSocket } from "ws";
import { defaultNetLimits } from "../limits.ts";
import type { Outbound } from "../proxy/outbound.ts";
import { ProxyError } from "../proxy/tunnel.ts";
import { joinSocket, type Socket, type SocketFailure, socketOptions } from "./socket_wire.ts";
import type { Dial, DialHandler, Wire } from "./wire.ts";

export function dialWebSocket(url: string, handler: DialHandler): Wire {
  return dial(url, handler, {});
}

export function dialThrough(outbound: Outbound): Dial {
  return (url, handler) => dial(url, handler, outbound.socketOptions(url));
}

function dial(url: string, handler: DialHandler, way: ReturnType<Outbound["socketOptions"]>): Wire {
  const socket: Socket = new WebSocket(url, { ...socketOptions, ...way, maxPayload: defaultNetLimits.frameBytes });
  socket.on("open", () => handler.opened());
  return joinSocket(socket, { handle: () => handler, explain: (error) => unreachable(url, error) });
}

const otherScheme = (url: string) => url.startsWith("wss:") ? url.replace("wss:", "ws:") : url.replace("ws:", "wss:");

function unreachable(url: string, error: Error & { code?: unknown }): SocketFailure {
  const start = `Cannot reach the orchestrator at ${url}`;
  if (error instanceof ProxyError) {
    const cure = `correct that variable, or connect without the proxy: NO_PROXY=${URL.parse(url)?.hostname ?? "HOST"}`;
    return { reason: `${start}: ${error.message}`, cure };
  }
  const other = `use --orchestrator ${otherScheme(url)}`;
  switch (error.code) {
    case "HPE_INVALID_CONSTANT": // a TLS alert instead of an HTTP answer
      return { reason: `${start}: ws:// needs a port without TLS, and this one uses TLS`, cure: other };
    case "ERR_SSL_WRONG_VERSION_NUMBER":
      return { reason: `${start}: wss:// needs a port with TLS, and this one has none`, cure: other };
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
    case "SELF_SIGNED_CERT_IN_CHAIN":
    case "UNABLE_TO_GET_ISSUER_CERT":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
      return {
        reason: `${start}: this machine does not trust its certificate`,
        cure: "copy that certificate to this machine and use --tls-ca FILE",
      };
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return {
        reason: `${start}: its certificate does not name this address`,
        cure: "use an address in the certificate, or give the orchestrator another certificate",
      };
    default:
      return { reason: `${start}: ${error.message}; check that it runs there and that the address is right` };
  }
}
