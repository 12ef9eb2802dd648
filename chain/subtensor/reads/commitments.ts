/** What hotkeys published. Untrusted: unknown kinds of fields are left out. */

import { hexToU8a, u8aToHex } from "@polkadot/util";
import * as v from "valibot";
import { assert } from "../../../core/assert.ts";
import type { Address, CommitmentField, CommitmentKind } from "../../call.ts";
import type { Commitment } from "../../chain.ts";
import { integer } from "../connection/plain_values.ts";
import type { StateAt, StoredItem } from "../connection/state.ts";

const rawBytesMax = 128;

const runtimeNames: Readonly<Record<Exclude<CommitmentKind, "raw">, string>> = {
  none: "None",
  bigRaw: "BigRaw",
  blakeTwo256: "BlakeTwo256",
  sha256: "Sha256",
  keccak256: "Keccak256",
  shaThree256: "ShaThree256",
};

const registrationSchema = v.nullable(v.object({
  block: integer,
  info: v.object({ fields: v.array(v.union([v.string(), v.record(v.string(), v.unknown())])) }),
}));

export async function readCommitments(
  state: StateAt,
  { netuid, hotkeys }: { netuid: number; hotkeys: readonly Address[] },
): Promise<Commitment[]> {
  if (hotkeys.length === 0) return [];
  const batch = Object.fromEntries(hotkeys.map((hotkey) => [hotkey, commitmentItem(netuid, hotkey)]));
  const found = await state.read(batch);
  return hotkeys.flatMap((hotkey) => {
    const registration = found[hotkey];
    if (registration === undefined || registration === null) return [];
    const { block, info: { fields } } = registration;
    return [{ hotkey, block, fields: fields.flatMap((field) => fieldOf(field) ?? []) }];
  });
}

function commitmentItem(
  netuid: number,
  hotkey: Address,
): StoredItem<v.InferOutput<typeof registrationSchema>> {
  return {
    ...{ pallet: "Commitments", name: "CommitmentOf", keys: [netuid, hotkey] },
    ...{ schema: registrationSchema, isRawWithoutMetadata: false },
  };
}

/** `{raw5: "0x…"}`, or a bare name without content. */
function fieldOf(field: string | Readonly<Record<string, unknown>>): CommitmentField | null {
  const [name, value] = typeof field === "string" ? [field, null] : Object.entries(field)[0] ?? ["", null];
  const bytes = typeof value === "string" && /^0x([0-9a-f]{2})*$/i.test(value) ? hexToU8a(value) : new Uint8Array(0);
  if (/^raw\d+$/i.test(name)) return { kind: "raw", bytes };
  const kinds = Object.entries(runtimeNames) as [CommitmentKind, string][];
  const kind = kinds.find(([, runtimeName]) => runtimeName.toLowerCase() === name.toLowerCase())?.[0];
  return kind === undefined ? null : { kind, bytes };
}

export function runtimeField({ kind, bytes }: CommitmentField): Record<string, string | null> {
  assert(kind !== "raw" || bytes.length <= rawBytesMax, `A raw field must have at most ${rawBytesMax} bytes`);
  if (kind === "none") return { None: null };
  return { [kind === "raw" ? `Raw${bytes.length}` : runtimeNames[kind]]: u8aToHex(bytes) };
}
