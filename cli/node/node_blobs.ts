/**
 * The blobs that a node exchanges with the orchestrator's store and with other miners. Authorization waits for the
 * orchestrator's identity.
 */

import { present } from "../../core/assert.ts";
import { showPass } from "../../net/auth/peer_pass.ts";
import { type Authorize, createAuthorize } from "../../net/auth/request_auth.ts";
import type { HeldTicket } from "../../net/auth/ticket.ts";
import { SessionFetch } from "../../net/blobs/session_fetch.ts";
import { defaultNetLimits } from "../../net/limits.ts";
import { systemRandom, systemTimers } from "../../net/timers.ts";
import { type BlobAccess, blobAccess } from "../roles/blob_access.ts";
import { remoteStore } from "../roles/stores.ts";
import type { HubTrust } from "./find/hub_trust.ts";
import { outbound } from "../program/outbound.ts";

/** The orchestrator has the same bytes. */
const peerAttempts = 2;

interface NodeBlobsOptions {
  readonly trust: HubTrust;
  readonly place: { readonly http: string }; // may change
  readonly by: Pick<Parameters<typeof createAuthorize>[0], "signer" | "timers" | "random">;
  readonly onProblem: (text: string) => void;
}

interface NodeBlobs {
  readonly access: BlobAccess;
  /** A change of address leaves dead connections. */
  begin(ticket: HeldTicket): void;
}

export function openNodeBlobs({ trust, place, by, onProblem }: NodeBlobsOptions): NodeBlobs {
  let authorize: Authorize | null = null;
  const toHub = new SessionFetch(trust.connections);
  const toPeers = new SessionFetch(() => outbound().connections());
  const { blobBytes } = defaultNetLimits;
  const common = { blobBytes, timers: systemTimers, random: systemRandom };
  const hubStore = {
    ...common,
    fetch: toHub.fetch,
    authorize: ((...given) => present(authorize, "blobs are requested after the hello")(...given)) satisfies Authorize,
    get url() {
      return place.http;
    },
  };
  const access = blobAccess(remoteStore(hubStore), {
    open: ({ node, url, pass }) =>
      remoteStore({
        ...common,
        fetch: toPeers.fetch,
        authorize: showPass(createAuthorize({ ...by, receiver: node }), pass),
        url,
        attempts: peerAttempts,
      }),
    blobBytes,
    timers: systemTimers,
    onProblem: ({ source, code, detail }) => onProblem(`source ${source} of a blob failed (${code}): ${detail}`),
  });
  return {
    access,
    begin: (ticket) => {
      toHub.begin();
      toPeers.begin();
      authorize = createAuthorize({ ...by, receiver: ticket.hub, ticket });
    },
  };
}
