/** Why a pool refused an extrinsic: `Custom error: 12` or `{"invalid":{"custom":12}}`. */

import type { RpcError } from "../connection/rpc_error.ts";

export type PoolError =
  | { readonly kind: "custom"; readonly custom: number }
  | {
    readonly kind:
      | "stale" // the nonce is used
      | "future" // the nonce leaves a gap
      | "badProof" // for another runtime, chain or block
      | "ancientBirthBlock" // the era is over, or its first block unknown
      | "payment"
      | "exhaustsResources"
      | "lowPriority" // another extrinsic waits with this nonce
      | "alreadyImported" // these very bytes wait
      | "banned" // these very bytes were just refused
      | "dropped"
      | "other";
  };

/** 1010 also needs its text. */
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

/** Only punctuation may be between word and number. */
const customCode = /custom(?: error)?"?\s*[:(]\s*(\d{1,3})\b/i;

export function readPoolError({ code, message }: RpcError): PoolError {
  const known = byCode.get(code);
  if (known !== undefined) return known;
  const custom = customCode.exec(message);
  if (custom !== null) return { kind: "custom", custom: Number(custom[1]) };
  return byText.find(([text]) => text.test(message))?.[1] ?? { kind: "other" };
}
