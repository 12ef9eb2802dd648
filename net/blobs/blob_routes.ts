/**
 * Blobs over HTTP, the serving side.
 *
 *  GET   /blobs/<hash>          200, 206 for `Range: bytes=a-b`, 404, 416
 *  GET   /blobs/<hash>/leaves   200 with 32 bytes a leaf and the blob's size in `Iota-Blob-Bytes`, 404
 *  PUT   /blobs/<hash>          201 stored, 200 was there, 422 other bytes, 413 too large, 507 no quota or space left,
 *                               403 not expected from this node; try again: 408 broken off, 429 too many, 503 disk full
 *  GET   /blobs/<hash>/upload   204 with `Upload-Offset`: so much of this node's upload is there; 200: the blob is
 *  PATCH /blobs/<hash>          adds a body at `Upload-Offset`: 204 with the new one, 409 with the one that fits;
 *                               with `Upload-Complete: ?1` it is the last, then as PUT
 *
 * HEAD is like GET, without the body. Errors are `{code, detail}` in JSON. Every request passes the gate first (401,
 * 403). Reading a blob also requires a task that needs it; without one the answer is the same 403 for every name,
 * stored or not. Every request reports once, at its end, the bytes read of its body or taken of its answer.
 */

import { type Context, Hono } from "hono";
import type { FaultCode, Parsed } from "../../core/fault.ts";
import { type BlobHash, blobHash, type BlobRef, type NodeId } from "../../core/ids.ts";
import { encodeLeaves } from "../blob_hash.ts";
import {
  BlobError,
  type BlobProblem,
  type BlobStore,
  type BlobUploads,
  type ByteRange,
  type ByteStream,
  type UploadAnswer,
} from "./blobs.ts";
import type { BlobIntake, IncomingBlob } from "./blob_intake.ts";
import type { SignedRequest } from "../auth/btauth.ts";
import { emptyBodyHash } from "../auth/signed_headers.ts";

interface ReadRequest {
  readonly node: NodeId;
  readonly hash: BlobHash;
  readonly headers: Headers;
}

export type Way = "received" | "sent";

/** Bytes that crossed the socket, whether or not the request succeeded. */
export interface BlobMove {
  readonly node: NodeId;
  readonly hash: BlobHash;
  readonly way: Way;
  readonly bytes: number;
  readonly blobBytes: number | null; // null: unknown
}

interface BlobReadRoutesOptions {
  readonly store: BlobStore;
  readonly check: (request: SignedRequest, headers: Headers) => Parsed<NodeId>;
  readonly mayRead: (request: ReadRequest) => boolean;
  readonly onMoved?: (move: BlobMove) => void;
}

export interface BlobRoutesOptions extends BlobReadRoutesOptions {
  readonly uploads: BlobUploads;
  readonly intake: BlobIntake;
}

type Gated = { Variables: { node: NodeId }; Bindings: { readonly trust?: () => void } };
type BlobContext = Context<Gated>;

type ErrorStatus = 400 | 401 | 403 | 404 | 408 | 413 | 416 | 422 | 429 | 500 | 503 | 507;

const statusOfProblem: Readonly<Record<BlobProblem, ErrorStatus>> = {
  missing: 404,
  wrongHash: 422,
  tooLarge: 413,
  noSpace: 507,
  diskFull: 503,
  busy: 429,
  brokenOff: 408,
  storage: 500,
  refused: 403,
  unreachable: 500,
};

const statusOfFault: Partial<Record<FaultCode, ErrorStatus>> = {
  unauthenticated: 401,
  limitExceeded: 429,
};

const blobPath = "/blobs/:hash{[0-9a-f]{64}}";

export function blobReadRoutes(options: BlobReadRoutesOptions): Hono<Gated> {
  const { check, mayRead } = options;
  const app = new Hono<Gated>();
  for (const path of [blobPath, `${blobPath}/leaves`, `${blobPath}/upload`]) {
    app.use(path, async (context, next) => {
      const { method, path, url } = context.req;
      const bodyHash = method === "PUT" || method === "PATCH" ? hashIn(context) : emptyBodyHash;
      const node = check({ method, target: path + new URL(url).search, bodyHash }, context.req.raw.headers);
      if (!node.ok) return context.json(node.fault, statusOfFault[node.fault.code] ?? 403);
      context.env?.trust?.();
      context.set("node", node.value);
      await next();
    });
  }
  for (const path of [blobPath, `${blobPath}/leaves`]) {
    app.get(path, async (context, next) => { // HEAD too
      const asked = { node: context.get("node"), hash: hashIn(context), headers: context.req.raw.headers };
      if (!mayRead(asked)) return notYours(context);
      await next();
    });
  }
  app.get(blobPath, (context) => getBlob(context, options));
  app.get(`${blobPath}/leaves`, (context) => getLeaves(context, options));
  app.onError((error, context) => {
    if (!(error instanceof BlobError)) throw error;
    return context.json({ code: error.code, detail: error.message }, statusOfProblem[error.code]);
  });
  return app;
}

export function blobRoutes(options: BlobRoutesOptions): Hono<Gated> {
  const app = blobReadRoutes(options);
  app.put(blobPath, (context) => putBlob(context, options));
  app.patch(blobPath, (context) => patchBlob(context, options));
  app.get(`${blobPath}/upload`, (context) => getUpload(context, options));
  return app;
}

const hashIn = (context: BlobContext): BlobHash => blobHash(context.req.param("hash") ?? "");

async function putBlob(context: BlobContext, options: BlobRoutesOptions): Promise<Response> {
  const { store } = options;
  const hash = hashIn(context);
  const body = context.req.raw.body; // a stream first requested after the body's end would never end
  const known = await store.find(hash);
  if (known !== null) {
    await body?.cancel();
    return context.json(known, 200);
  }
  const answer = await receive(context, {
    ...{ options, body, offset: 0, isLast: true },
    store: async (source) => ({ type: "stored", ref: await store.put(source, hash) }),
  });
  return answerUpload(context, { answer, offset: 0 });
}

interface Arrival {
  readonly options: BlobRoutesOptions;
  readonly body: ByteStream | null;
  readonly offset: number;
  readonly isLast: boolean;
  readonly store: (source: ByteStream) => Promise<UploadAnswer>;
}

async function receive(context: BlobContext, arrival: Arrival): Promise<UploadAnswer> {
  const { options: { intake, onMoved }, body, offset, isLast, store } = arrival;
  const node = context.get("node");
  const announcedBytes = bodyBytes(context);
  let blobBytes = isLast && announcedBytes !== null ? offset + announcedBytes : null;
  let bytes = 0;
  const incoming: IncomingBlob = {
    ...{ node, heldBytes: offset, announcedBytes: announcedBytes ?? 0 },
    body: body ?? new Blob([]).stream(),
    arrived: (more) => bytes += more,
  };
  try {
    const answer = await intake.receive(incoming, store);
    if (answer.type === "stored") blobBytes = answer.ref.bytes;
    return answer;
  } finally {
    if (bytes > 0) onMoved?.({ node, hash: hashIn(context), way: "received", bytes, blobBytes });
  }
}

async function getUpload(context: BlobContext, { store, uploads }: BlobRoutesOptions): Promise<Response> {
  const hash = hashIn(context);
  const offset = await uploads.offset({ hash, node: context.get("node") });
  const known = await store.find(hash);
  context.header("upload-offset", String(known?.bytes ?? offset));
  return known === null ? context.body(null, 204) : context.json(known, 200);
}

async function patchBlob(context: BlobContext, options: BlobRoutesOptions): Promise<Response> {
  const { store, uploads } = options;
  const hash = hashIn(context);
  const body = context.req.raw.body;
  const known = await store.find(hash);
  if (known !== null) {
    await body?.cancel();
    return context.json(known, 200);
  }
  const offset = readCount(context.req.header("upload-offset"));
  if (offset === null) {
    await body?.cancel();
    return refuse(context, "'Upload-Offset' must be a count of bytes");
  }
  const isLast = context.req.header("upload-complete") === "?1";
  const [key, bytes] = [{ hash, node: context.get("node") }, bodyBytes(context)];
  const answer = await receive(context, {
    ...{ options, body, offset, isLast },
    store: (source) => uploads.append(key, { offset, bytes, isLast, source }),
  });
  return answerUpload(context, { answer, offset });
}

function answerUpload(context: BlobContext, { answer, offset }: { answer: UploadAnswer; offset: number }): Response {
  if (answer.type === "stored") return context.json(answer.ref, 201);
  context.header("upload-offset", String(answer.bytes));
  if (answer.type === "appended") return context.body(null, 204);
  const detail = `'Upload-Offset' must be ${answer.bytes}, and is ${offset}`;
  return context.json({ code: answer.type, detail }, 409);
}

function refuse(context: BlobContext, detail: string): Response {
  return context.json({ code: "refused", detail }, 400);
}

function notHere(context: BlobContext): Response {
  return context.json({ code: "missing", detail: `Blob ${hashIn(context)} is not here` }, 404);
}

function notYours(context: BlobContext): Response {
  const detail = `Cannot read blob ${
    hashIn(context)
  }: this node's current work does not need it; its next message names the blobs it needs`;
  return context.json({ code: "refused", detail }, 403);
}

async function getLeaves(context: BlobContext, { store, onMoved }: BlobReadRoutesOptions): Promise<Response> {
  const ref = await store.find(hashIn(context));
  const leaves = ref === null ? null : await store.leaves(ref.hash);
  if (ref === null || leaves === null) return notHere(context);
  const list = encodeLeaves(leaves);
  const headers = fileHeaders(list.length);
  headers.set("iota-blob-bytes", String(ref.bytes));
  if (context.req.method === "HEAD") return new Response(null, { headers });
  const sending = { node: context.get("node"), ref, length: list.length, onMoved };
  return new Response(reported(new Blob([list]).stream(), sending), { headers });
}

async function getBlob(context: BlobContext, { store, onMoved }: BlobReadRoutesOptions): Promise<Response> {
  const ref = await store.find(hashIn(context));
  if (ref === null) return notHere(context);
  const range = readRange(context.req.header("range"), ref);
  if (range === null) {
    context.header("content-range", `bytes */${ref.bytes}`);
    return context.json({ code: "refused", detail: `The range is outside the blob's ${ref.bytes} bytes` }, 416);
  }
  const length = range.end - range.start;
  const isWhole = length === ref.bytes;
  const headers = fileHeaders(length);
  headers.set("accept-ranges", "bytes");
  headers.set("etag", `"${ref.hash}"`);
  if (!isWhole) headers.set("content-range", `bytes ${range.start}-${range.end - 1}/${ref.bytes}`);
  const init = { status: isWhole ? 200 : 206, headers };
  if (context.req.method === "HEAD") return new Response(null, init);
  const body = await store.open(ref.hash, isWhole ? undefined : range);
  return new Response(reported(body, { node: context.get("node"), ref, length, onMoved }), init);
}

interface Sending {
  readonly node: NodeId;
  readonly ref: BlobRef;
  readonly length: number;
  readonly onMoved: BlobReadRoutesOptions["onMoved"] | undefined;
}

/** Reports once the number of bytes read. */
function reported(body: ByteStream, { node, ref, length, onMoved }: Sending): ByteStream {
  if (onMoved === undefined) return body;
  const reader = body.getReader();
  let bytes = 0;
  let isReported = false;
  let isCancelled = false;
  const report = () => {
    if (!isReported && bytes > 0) onMoved({ node, hash: ref.hash, way: "sent", bytes, blobBytes: ref.bytes });
    isReported = true;
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read().catch((error) => {
        report();
        throw error;
      });
      if (isCancelled) return; // the last bytes read are discarded
      bytes += value?.length ?? 0;
      if (done || bytes === length) report(); // a reader that has them all may never ask again
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel(reason) {
      isCancelled = true;
      report();
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}

function fileHeaders(bytes: number): Headers {
  return new Headers({
    "content-type": "application/octet-stream",
    "content-length": String(bytes),
    "cache-control": "private, immutable, max-age=31536000",
  });
}

const bodyBytes = (context: BlobContext): number | null => readCount(context.req.header("content-length"));

function readCount(header: string | undefined): number | null {
  return header !== undefined && /^\d{1,15}$/.test(header) ? Number(header) : null;
}

/** Null: outside the blob. Other units and multiple ranges get the whole blob, as HTTP allows. */
function readRange(header: string | undefined, ref: BlobRef): ByteRange | null {
  const whole = { start: 0, end: ref.bytes };
  const match = /^bytes=(\d{1,15})-(\d{0,15})$/.exec(header ?? "");
  if (match === null) return whole;
  const start = Number(match[1]);
  const end = match[2] === "" ? ref.bytes : Math.min(Number(match[2]) + 1, ref.bytes);
  return start < end ? { start, end } : null;
}
