/**
 * Dials the orchestrator with the runtime's own WebSocket.
 *
 * Owns: `dialWebSocket`. Refuses: retries and sessions (node.ts), bounds on what is sent (the session's window keeps what the
 * socket buffers below `windowBytes` plus a frame). The socket cannot be paused; a paused node leaves frames unacknowledged
 * and the hub's window closes instead.
 */

import type { DialHandler, Wire } from "./wire.ts";

export function dialWebSocket(url: string, handler: DialHandler): Wire {
  const socket = new WebSocket(url);
  socket.binaryType = "arraybuffer";
  let problem: string | null = null;
  socket.onopen = () => handler.opened();
  socket.onmessage = ({ data }) => {
    if (data instanceof ArrayBuffer) handler.frame(new Uint8Array(data));
    else socket.close(1003, "text is not spoken here");
  };
  socket.onerror = (event) => {
    const message = event instanceof ErrorEvent ? event.message : "";
    problem = unreachable(url, message);
  };
  socket.onclose = ({ reason, code }) => {
    socket.onmessage = null;
    handler.closed(problem ?? (reason === "" ? `the orchestrator closed the connection (code ${code})` : reason));
  };
  return {
    // The runtime copies what it buffers, so the frame may be sent again.
    send: (frame) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(frame as Uint8Array<ArrayBuffer>);
    },
    close: (reason) => {
      problem = reason;
      if (socket.readyState <= WebSocket.OPEN) socket.close(1000, shorten(reason));
    },
    pause: () => {},
    resume: () => {},
  };
}

function unreachable(url: string, message: string): string {
  const cause = message === "" ? "" : `: ${message}`;
  return `Cannot reach the orchestrator at ${url}${cause}; check that it runs there and that the address is right`;
}

/** A close reason holds at most 123 bytes. */
export function shorten(reason: string): string {
  const bytes = new TextEncoder().encode(reason);
  return bytes.length <= 123 ? reason : new TextDecoder().decode(bytes.subarray(0, 120)).replace(/\uFFFD+$/, "");
}
