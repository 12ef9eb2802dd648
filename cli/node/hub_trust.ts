/**
 * Which certificates a node accepts from an orchestrator at wss://: those the system trusts, or those of --tls-ca.
 *
 * Owns: the two connections to the hub that depend on it, its socket and its blobs over HTTP. TLS only keeps traffic
 * secret; the hub's hotkey in the hello proves its identity, whatever the certificate.
 */

import { dialTrusting, dialWebSocket } from "../../net/links/client.ts";
import type { Dial } from "../../net/links/wire.ts";
import { type Connections, ownConnections } from "../../net/blobs/session_fetch.ts";
import { readTlsAuthority } from "../roles/tls_files.ts";

export interface HubTrust {
  readonly dial: Dial;
  /** For requests to the hub only; none: the runtime's default. */
  readonly http: { readonly fetch?: (url: string, init?: RequestInit) => Promise<Response> };
  /** The same, in a pool of their own that can be closed. */
  readonly connections: () => Connections;
}

export async function hubTrust(authorityFile: string | undefined): Promise<HubTrust> {
  if (authorityFile === undefined) return { dial: dialWebSocket, http: {}, connections: () => ownConnections() };
  const authority = await readTlsAuthority({ name: "--tls-ca", text: authorityFile });
  const client = Deno.createHttpClient({ caCerts: [authority] });
  return {
    dial: dialTrusting(authority),
    http: { fetch: (url, init) => fetch(url, { ...init, client }) },
    connections: () => ownConnections({ caCerts: [authority] }),
  };
}
