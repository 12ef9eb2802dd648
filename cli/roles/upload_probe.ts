/**
 * This orchestrator's upload to the address that its nodes dial: whether a proxy before it lets bodies of that size
 * through.
 */

import type { BlobHash } from "../../core/ids.ts";
import { createAuthorize } from "../../net/auth/request_auth.ts";
import type { Signer } from "../../net/auth/hello.ts";
import { nameOf } from "../../net/blob_hash.ts";
import { type BlobStore, uploadChunkBytes, UploadError } from "../../net/blobs/blobs.ts";
import { type Random, systemRandom, systemTimers } from "../../net/timers.ts";
import { outbound } from "../program/outbound.ts";
import type { HubBlobs } from "./blob_access.ts";
import { remoteStore } from "./stores.ts";

interface UploadProbeOptions {
  readonly url: string;
  readonly remote: BlobStore;
  readonly forget: (hash: BlobHash) => Promise<void>;
  readonly mostBytes: number;
  readonly random: Random;
}

interface OwnAddress {
  readonly socket: string;
  readonly tls: { readonly certificate: string } | null;
  readonly signer: Signer;
  readonly blobs: HubBlobs;
}

const attempts = 2;
const nonceBytes = 32;

export function ownAddress({ socket, tls, signer, blobs }: OwnAddress): UploadProbeOptions {
  const url = socket.replace(/^ws/, "http").replace(/\/$/, "");
  const by = { timers: systemTimers, random: systemRandom };
  const remote = remoteStore({
    ...{ url, attempts, blobBytes: uploadChunkBytes, ...by },
    authorize: createAuthorize({ signer, receiver: signer.address, ...by }),
    ...(tls === null ? {} : { fetch: outbound().trusting(tls.certificate).fetch }),
  });
  return { url, remote, forget: (hash) => blobs.delete(hash), mostBytes: uploadChunkBytes, random: systemRandom };
}

/** Null: the upload succeeded, or the address cannot be tried from here. */
export async function probeUpload(
  { url, remote, forget, mostBytes, random }: UploadProbeOptions,
  bytes: number,
): Promise<string | null> {
  const sample = new Uint8Array(Math.max(nonceBytes, Math.min(bytes, mostBytes)));
  sample.set(random.bytes(nonceBytes)); // new each time, or the store would have it
  const { hash } = await nameOf(sample);
  try {
    await remote.put(sample, hash);
    return null;
  } catch (error) {
    if (error instanceof UploadError && error.upload.status !== null) return refusalText(url, error);
    return null;
  } finally {
    await forget(hash);
  }
}

const mebibyte = 2 ** 20;

function refusalText(url: string, { upload: { status, bytes } }: UploadError): string {
  const answer = `${url} answers ${status} to this orchestrator's own upload of ${bytes.toLocaleString("en-US")} bytes`;
  if (status === 413) {
    const room = Math.ceil((2 * bytes) / mebibyte); // beyond the body, so that a rounded limit does not refuse it
    return `${answer}: allow larger requests in the proxy there (nginx: client_max_body_size ${room}m;)`;
  }
  if (status === 401 || status === 403 || status === 405) {
    return `${answer}: let PUT and PATCH requests to /blobs/ through, with all of their headers`;
  }
  return `${answer}: read the log of the proxy there`;
}
