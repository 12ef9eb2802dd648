/** Submits an extrinsic and follows it. Its end is reported once, at the latest when the socket closes. */

import { u8aToHex } from "@polkadot/util";
import * as v from "valibot";
import { hashSchema } from "../connection/plain_values.ts";
import type { SignedExtrinsic } from "./extrinsics.ts";
import { isRateLimit, isUnknownMethod, RpcError } from "../connection/rpc_error.ts";
import type { Session } from "../connection/session.ts";

/** `lost`: the report never ended or started. */
export type WatchEnd =
  | { readonly type: "inBlock"; readonly hash: string }
  | { readonly type: "invalid" }
  | { readonly type: "lost" };

export type Submission =
  | { readonly type: "taken"; readonly end: Promise<WatchEnd>; readonly unwatch: () => void }
  | { readonly type: "rejected"; readonly error: RpcError } // not accepted
  | { readonly type: "putOff" } // too many requests: probably not in the pool
  | { readonly type: "unclear" }; // it may have been accepted

const statusSchema = v.union([
  v.string(),
  v.pipe(v.object({ inBlock: hashSchema }), v.transform(({ inBlock }) => ({ hash: inBlock }))),
  v.pipe(v.object({ finalized: hashSchema }), v.transform(({ finalized }) => ({ hash: finalized }))),
  v.pipe(v.looseObject({}), v.transform((status) => Object.keys(status)[0] ?? "unknown")),
]);

export async function submitAndWatch(session: Session, extrinsic: SignedExtrinsic): Promise<Submission> {
  const end = Promise.withResolvers<WatchEnd>();
  session.socket.closed.then(() => end.resolve({ type: "lost" }));
  const params = [u8aToHex(extrinsic.bytes)];
  try {
    const unwatch = await session.socket.subscribe(
      { method: "author_submitAndWatchExtrinsic", unsubscribe: "author_unwatchExtrinsic", params },
      (status) => {
        const reached = endOf(status);
        if (reached !== null) end.resolve(reached);
      },
    );
    return { type: "taken", end: end.promise, unwatch };
  } catch (error) {
    if (isUnknownMethod(error)) return await submitOnly(session, extrinsic); // some public nodes have no watch
    return ending(error);
  }
}

/** Without a watch, the blocks must tell. */
export async function submitOnly(session: Session, extrinsic: SignedExtrinsic): Promise<Submission> {
  try {
    await session.socket.call("author_submitExtrinsic", [u8aToHex(extrinsic.bytes)]);
    return { type: "taken", end: Promise.resolve({ type: "lost" }), unwatch: () => {} };
  } catch (error) {
    return ending(error);
  }
}

/** Only the pool's answer is a verdict. */
function ending(error: unknown): Submission {
  const isVerdict = error instanceof RpcError && error.code >= 1_000 && error.code < 2_000;
  if (isVerdict) return { type: "rejected", error };
  return { type: error instanceof RpcError && isRateLimit(error) ? "putOff" : "unclear" };
}

function endOf(json: unknown): WatchEnd | null {
  const status = v.safeParse(statusSchema, json);
  if (!status.success) return { type: "lost" };
  if (typeof status.output !== "string") return { type: "inBlock", hash: status.output.hash };
  switch (status.output) {
    case "invalid":
      return { type: "invalid" };
    case "dropped": // another node's pool may still have it
    case "usurped":
    case "finalityTimeout":
      return { type: "lost" };
    default:
      return null; // keep watching
  }
}
