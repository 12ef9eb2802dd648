/** What hotkeys published about themselves, in the roles' form and as the runtime's `Registration`. */

import type { Address, CommitmentKind } from "../../call.ts";
import type { Commitment } from "../../chain.ts";
import { accountOf, type CommitmentRecord, keyOf } from "../state/records.ts";
import type { ReadableChain } from "./readable_chain.ts";

export function commitmentOf(
  { state }: Pick<ReadableChain, "state">,
  netuid: number,
  hotkey: Address,
): Commitment | null {
  const record = state.read("commitment", keyOf(netuid, accountOf(hotkey)));
  if (record === undefined) return null;
  return { hotkey, block: record.block, fields: record.fields.map(({ kind, hex }) => ({ kind, bytes: bytesOf(hex) })) };
}

export function registrationOf({ block, fields }: CommitmentRecord) {
  return { deposit: 0n, block, info: { fields: fields.map(dataOf) } };
}

function dataOf({ kind, hex }: CommitmentRecord["fields"][number]): { type: string; value?: Uint8Array } {
  if (kind === "none") return { type: "None" };
  const value = bytesOf(hex);
  return { type: kind === "raw" ? `Raw${value.length}` : variantNames[kind], value };
}

const variantNames: Readonly<Record<Exclude<CommitmentKind, "none" | "raw">, string>> = {
  bigRaw: "BigRaw",
  blakeTwo256: "BlakeTwo256",
  sha256: "Sha256",
  keccak256: "Keccak256",
  shaThree256: "ShaThree256",
};

const bytesOf = (hex: string): Uint8Array => Uint8Array.fromHex(hex);
