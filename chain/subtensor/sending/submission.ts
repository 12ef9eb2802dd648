/**
 * Puts one signed extrinsic into a node's pool and follows it as long as that node talks.
 *
 * Owns: the watch and its end. Refuses: what to make of the end (sender.ts). Invariant: the end comes once, at the latest when the
 * socket is gone.
 */

import { u8aToHex } from "@polkadot/util";
import * as v from "valibot";
import { hashSchema } from "./block_header.ts";
import type { SignedExtrinsic } from "./extrinsics.ts";
import { isRateLimit, isUnknownMethod, RpcError } from "../connection/rpc_error.ts";
import type { Session } from "../connection/session.ts";

/** How a node's account of an extrinsic ends. `lost`: it does not, or never began. */
export type WatchEnd =
  | { readonly type: "inBlock"; readonly hash: string }
  | { readonly type: "invalid" }
  | { readonly type: "lost" };

export type Submission =
  | { readonly type: "taken"; readonly end: Promise<WatchEnd>; readonly unwatch: () => void }
  | { readonly type: "rejected"; readonly error: RpcError } // by the pool: nothing was taken
  | { readonly type: "putOff" } // too many requests: the pool has most likely not heard of it
  | { readonly type: "unclear" }; // no answer, or none of the pool's: it may have been taken

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
    if (isUnknownMethod(error)) return await submitOnly(session, extrinsic); // some public nodes do not let callers watch
    return ending(error);
  }
}

/** Without a watch: the blocks have to tell. */
export async function submitOnly(session: Session, extrinsic: SignedExtrinsic): Promise<Submission> {
  try {
    await session.socket.call("author_submitExtrinsic", [u8aToHex(extrinsic.bytes)]);
    return { type: "taken", end: Promise.resolve({ type: "lost" }), unwatch: () => {} };
  } catch (error) {
    return ending(error);
  }
}

/** The pool's own words are a verdict; any other end of the request leaves open whether the extrinsic arrived. */
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
    case "dropped": // this pool is full; another node's may still have it
    case "usurped":
    case "finalityTimeout":
      return { type: "lost" };
    default:
      return null; // future, ready, broadcast, retracted: it goes on
  }
}
