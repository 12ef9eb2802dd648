/**
 * Whose certificate a node accepts of an orchestrator at wss://: what the system trusts, or the authority of --tls-ca.
 *
 * Owns: the two ways to the hub that follow from it, its socket and its blobs over HTTP. TLS keeps what is sent from being read on
 * the way; that it is the right hub is proven by its hotkey in the hello, with any certificate.
 */

import { dialTrusting, dialWebSocket } from "../../net/links/client.ts";
import type { Dial } from "../../net/links/wire.ts";
import { readTlsAuthority } from "../roles/tls_files.ts";

export interface HubTrust {
  readonly dial: Dial;
  /** For requests to the hub and to nobody else; none: the runtime's own. */
  readonly http: { readonly fetch?: (url: string, init?: RequestInit) => Promise<Response> };
}

export async function hubTrust(authorityFile: string | undefined): Promise<HubTrust> {
  if (authorityFile === undefined) return { dial: dialWebSocket, http: {} };
  const authority = await readTlsAuthority({ name: "--tls-ca", text: authorityFile });
  const client = Deno.createHttpClient({ caCerts: [authority] });
  return { dial: dialTrusting(authority), http: { fetch: (url, init) => fetch(url, { ...init, client }) } };
}
