/** `author_*`: submitting and watching extrinsics; also fee queries. */

import { hexOf } from "../hex.ts";
import type { Method, Methods } from "./method.ts";
import { bytesParam } from "./params.ts";

const submit: Method = ([extrinsic], { pool }) => pool.submit(bytesParam(extrinsic, "extrinsic"));

const submitAndWatch: Method = ([extrinsic], { pool }, caller) => {
  const bytes = bytesParam(extrinsic, "extrinsic");
  // Both happen at once: if the caller cannot be notified, its extrinsic must not have been submitted.
  let watched: ((push: (status: unknown) => void) => () => void) | null = null;
  const id = caller.subscribe({
    notification: "author_extrinsicUpdate",
    start: (push) => watched?.(push) ?? (() => {}),
  });
  try {
    const hash = pool.submit(bytes);
    watched = (push) => pool.watch(hash, push);
    return id;
  } catch (error) {
    caller.unsubscribe(id);
    throw error;
  }
};

const unwatch: Method = ([id], _, caller) => caller.unsubscribe(id);

const pending: Method = (_, { pool }) => pool.waiting().map(({ bytes }) => hexOf(bytes));

/** A node's answer for a hotkey's call; the ledger decides the coldkey's fees. */
const paymentInfo: Method = ([extrinsic], _) => {
  bytesParam(extrinsic, "extrinsic");
  return { weight: { ref_time: 0, proof_size: 0 }, class: "normal", partialFee: "0" };
};

export const authorMethods: Methods = {
  author_submitExtrinsic: submit,
  author_submitAndWatchExtrinsic: submitAndWatch,
  author_unwatchExtrinsic: unwatch,
  author_pendingExtrinsics: pending,
  payment_queryInfo: paymentInfo,
};
