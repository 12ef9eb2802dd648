/**
 * A reachable miner's port, where newcomers to its stage copy the parameters leaf by leaf. It opens before the hello,
 * which names its address.
 */

import type { NodeId } from "../../core/ids.ts";
import type { Verify } from "../../net/auth/hello.ts";
import type { NetLimits } from "../../net/limits.ts";
import { PeerBlobs } from "../../net/peer_blobs.ts";
import type { PassIssuer } from "../../net/auth/peer_pass.ts";
import { listen, ListenError } from "../../net/server.ts";
import type { Timers } from "../../net/timers.ts";
import { UsageError, UserError } from "../program/errors.ts";
import { peerUrl } from "../roles/blob_access.ts";
import { peerStore } from "../roles/stores.ts";

export interface PeerServer {
  readonly url: string;
  /** No newcomers are served before. */
  trust(issuer: PassIssuer): void;
  hold(vectors: readonly Uint8Array[]): void;
  close(): Promise<void>;
}

interface PeerServerOptions {
  readonly listen: string;
  readonly publicUrl: string | undefined;
  readonly self: NodeId; // the stage's owner, to whom requests must be addressed
  readonly verify: Verify;
  readonly limits: NetLimits;
  readonly timers: Timers;
  readonly onError: (error: unknown) => void;
}

const vectorsHeld = 4; // parameters and outer momentum of two rounds

export async function openPeerServer(options: PeerServerOptions): Promise<PeerServer> {
  const { self, verify, limits, timers, onError } = options;
  const { host, port } = hostAndPort(options.listen);
  const { blobBytes } = limits;
  const store = peerStore({ blobBytes, capacityBytes: vectorsHeld * blobBytes });
  const peers = new PeerBlobs({ self, store, verify, limits, timers, onError });
  let holding = Promise.resolve();
  const hold = (vectors: readonly Uint8Array[]) => {
    holding = holding.then(async () => void await peers.hold(vectors)).catch(onError);
  };
  const listener = await listen({
    host,
    port,
    limits,
    accept: (wire) => {
      wire.close("this port serves only blobs");
      return { frame: () => {}, closed: () => {} };
    },
    fetch: (request, trust) => peers.fetch(request, trust),
    onNotice: (text) => onError(new Error(text)),
  }).catch((error) => {
    throw error instanceof ListenError ? new UserError(error.message, { next: error.next, cause: error }) : error;
  });
  const url = options.publicUrl ?? listener.url;
  if (peerUrl(url) === null || /^https?:\/\/(0\.0\.0\.0|\[::\])/.test(url)) {
    await listener.close();
    throw new UsageError(`Cannot announce '${url}': peers on other machines cannot reach it`, {
      next: "Pass the address at which they reach it: --public-url http://YOUR-ADDRESS:PORT",
    });
  }
  return {
    url,
    trust: (issuer) => peers.trust(issuer),
    hold,
    close: () => listener.close(),
  };
}

function hostAndPort(text: string): { host: string; port: number } {
  const at = text.lastIndexOf(":");
  const port = Number(text.slice(at + 1));
  if (at > 0 && Number.isInteger(port) && port >= 0 && port < 65_536) {
    return { host: text.slice(0, at).replace(/^\[|\]$/g, ""), port };
  }
  throw new UsageError(`--listen must be HOST:PORT, but is '${text}'`, {
    next: "For example: --listen 0.0.0.0:9010 --public-url http://203.0.113.7:9010",
  });
}
