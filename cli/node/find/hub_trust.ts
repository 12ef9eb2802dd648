/**
 * The certificates that a node accepts at wss://. TLS only keeps traffic secret; the hotkey in the hello proves the
 * orchestrator's identity.
 */

import { dialThrough } from "../../../net/links/client.ts";
import type { Dial } from "../../../net/links/wire.ts";
import type { Connections } from "../../../net/blobs/session_fetch.ts";
import type { Fetch } from "../../../net/proxy/outbound.ts";
import { outbound } from "../../program/outbound.ts";
import { readTlsAuthority } from "../../files/tls_files.ts";

export interface HubTrust {
  readonly dial: Dial;
  readonly http: { readonly fetch: Fetch };
  readonly connections: () => Connections;
}

export async function hubTrust(authorityFile: string | undefined): Promise<HubTrust> {
  const way = authorityFile === undefined
    ? outbound()
    : outbound().trusting(await readTlsAuthority({ name: "--tls-ca", text: authorityFile }));
  return { dial: dialThrough(way), http: { fetch: way.fetch }, connections: () => way.connections() };
}
