/**
 * Why a node's transaction pool refused an extrinsic, read from the text of its answer, in both spellings nodes use:
 * `Custom error: 12` and `{"invalid":{"custom":12}}`. Unknown texts give "other".
 */

import type { RpcError } from "../connection/rpc_error.ts";

export type PoolError =
  | { readonly kind: "custom"; readonly custom: number }
  | {
    readonly kind:
      | "stale" // the nonce is used
      | "future" // the nonce leaves a gap
      | "badProof" // signed for another runtime, chain or block
      | "ancientBirthBlock" // the era is over, or its first block is unknown
      | "payment"
      | "exhaustsResources"
      | "lowPriority" // another extrinsic with this nonce waits in the pool
      | "alreadyImported" // this very extrinsic waits in the pool
      | "banned" // this very extrinsic was refused a moment ago
      | "dropped" // the pool is full
      | "other";
  };

/** Pool codes that are sufficient by themselves; 1010 also needs its text. */
const byCode: ReadonlyMap<number, PoolError> = new Map([
  [1012, { kind: "banned" }],
  [1013, { kind: "alreadyImported" }],
  [1014, { kind: "lowPriority" }],
  [1016, { kind: "dropped" }],
]);

const byText: readonly [RegExp, PoolError][] = [
  [/outdated|"?\bstale\b/i, { kind: "stale" }],
  [/valid in the future|"?\bfuture\b/i, { kind: "future" }],
  [/bad signature|\bbad_?proof\b/i, { kind: "badProof" }],
  [/ancient/i, { kind: "ancientBirthBlock" }],
  [/inability to pay|\bpayment\b/i, { kind: "payment" }],
  [/exhaust/i, { kind: "exhaustsResources" }],
];

/** The custom code, if the pool gives one: only punctuation may be between the word and the number. */
const customCode = /custom(?: error)?"?\s*[:(]\s*(\d{1,3})\b/i;

export function readPoolError({ code, message }: RpcError): PoolError {
  const known = byCode.get(code);
  if (known !== undefined) return known;
  const custom = customCode.exec(message);
  if (custom !== null) return { kind: "custom", custom: Number(custom[1]) };
  return byText.find(([text]) => text.test(message))?.[1] ?? { kind: "other" };
}
