/**
 * Blobs over HTTP, the serving side.
 *
 *   PUT  /blobs/<sha256>   201 stored, 200 was there, 422 other bytes, 413 too large, 507 full
 *   GET  /blobs/<sha256>   200, 206 for `Range: bytes=a-b`, 404, 416
 *   HEAD /blobs/<sha256>   as GET, without reading
 *
 * Owns: status codes and headers. Every request passes the gate first (401, 403). Refuses: storage (injected store).
 * Errors are `{code, detail}` in JSON, for programs and people.
 */

import { type Context, Hono } from "hono";
import type { FaultCode, Parsed } from "../core/fault.ts";
import { type BlobHash, blobHash, type BlobRef, type NodeId } from "../core/ids.ts";
import { BlobError, type BlobProblem, type BlobStore, type ByteRange, tooLarge } from "./blobs.ts";
import type { SignedRequest } from "./request_auth.ts";

export interface BlobRoutesOptions {
  readonly store: BlobStore;
  readonly blobBytes: number;
  readonly check: (request: SignedRequest, headers: Headers) => Parsed<NodeId>;
}

type ErrorStatus = 400 | 401 | 403 | 404 | 413 | 416 | 422 | 429 | 500 | 507;

const statusOfProblem: Readonly<Record<BlobProblem, ErrorStatus>> = {
  missing: 404,
  wrongHash: 422,
  tooLarge: 413,
  noSpace: 507,
  storage: 500,
  refused: 403,
  unreachable: 500,
};

const statusOfFault: Partial<Record<FaultCode, ErrorStatus>> = {
  unauthenticated: 401,
  limitExceeded: 429,
};

export function blobRoutes(options: BlobRoutesOptions): Hono {
  const app = new Hono();
  app.use("/blobs/:hash{[0-9a-f]{64}}", async (context, next) => {
    const { method, path, url } = context.req;
    const bodyHash = method === "PUT" ? hashIn(context) : "";
    const node = options.check({ method, path: path + new URL(url).search, bodyHash }, context.req.raw.headers);
    if (node.ok) return await next();
    return context.json(node.fault, statusOfFault[node.fault.code] ?? 403);
  });
  app.put("/blobs/:hash{[0-9a-f]{64}}", (context) => putBlob(context, options));
  app.get("/blobs/:hash{[0-9a-f]{64}}", (context) => getBlob(context, options.store)); // HEAD too
  app.onError((error, context) => {
    if (!(error instanceof BlobError)) throw error;
    return context.json({ code: error.code, detail: error.message }, statusOfProblem[error.code]);
  });
  return app;
}

const hashIn = (context: Context): BlobHash => blobHash(context.req.param("hash") ?? "");

async function putBlob(context: Context, { store, blobBytes }: BlobRoutesOptions): Promise<Response> {
  const hash = hashIn(context);
  const body = context.req.raw.body;
  const known = await store.find(hash);
  if (known !== null) {
    await body?.cancel();
    return context.json(known, 200);
  }
  const declared = Number(context.req.header("content-length") ?? 0);
  if (declared > blobBytes) throw tooLarge({ limit: blobBytes, value: declared });
  return context.json(await store.put(body ?? new Uint8Array(0), hash), 201);
}

async function getBlob(context: Context, store: BlobStore): Promise<Response> {
  const ref = await store.find(hashIn(context));
  if (ref === null) {
    return context.json({ code: "missing", detail: `Cannot read blob ${hashIn(context)} as it is not here` }, 404);
  }
  const range = readRange(context.req.header("range"), ref);
  if (range === null) {
    context.header("content-range", `bytes */${ref.bytes}`);
    return context.json({ code: "refused", detail: `Cannot read that range as the blob has ${ref.bytes} bytes` }, 416);
  }
  const isWhole = range.end - range.start === ref.bytes;
  const headers = new Headers({
    "content-type": "application/octet-stream",
    "content-length": String(range.end - range.start),
    "accept-ranges": "bytes",
    "cache-control": "private, immutable, max-age=31536000",
    etag: `"${ref.hash}"`,
  });
  if (!isWhole) headers.set("content-range", `bytes ${range.start}-${range.end - 1}/${ref.bytes}`);
  const body = context.req.method === "HEAD" ? null : await store.open(ref.hash, isWhole ? undefined : range);
  return new Response(body, { status: isWhole ? 200 : 206, headers });
}

/** One range or none; null: it lies outside. Other units and several ranges are answered with the whole, as HTTP allows. */
function readRange(header: string | undefined, ref: BlobRef): ByteRange | null {
  const whole = { start: 0, end: ref.bytes };
  const match = /^bytes=(\d{1,15})-(\d{0,15})$/.exec(header ?? "");
  if (match === null) return whole;
  const start = Number(match[1]);
  const end = match[2] === "" ? ref.bytes : Math.min(Number(match[2]) + 1, ref.bytes);
  return start < end ? { start, end } : null;
}
