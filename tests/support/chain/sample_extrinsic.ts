/**
 * Signed extrinsics put together by hand, so that every part of them can be wrong.
 *
 * Does not use the project's own encoder of extrinsics, which is under test.
 */

import { blake2AsU8a } from "@polkadot/util-crypto";
import { typesOf } from "../../../chain/local/surface/metadata.ts";
import { scaleOf } from "../../../chain/local/surface/scale.ts";
import { ScaleWriter } from "../../../chain/local/surface/scale_bytes.ts";
import { alice, bob, testRuntime } from "./node_world.ts";

export const testScale = scaleOf(typesOf(testRuntime.surface));

/** A call of the subnet pallet as the codec takes it. */
export const subnetCall = (type: string, value: unknown): unknown => ({
  type: "SubtensorModule",
  value: { type, value },
});

export interface Spelling {
  readonly nonce?: number;
  readonly era?: { readonly type: string; readonly value?: unknown };
  readonly eraHash?: Uint8Array; // default: the genesis, which immortal ones are bound to
  readonly specVersion?: number;
  readonly signedGenesis?: Uint8Array;
  readonly call?: unknown; // default: a registration
  readonly checksMetadata?: boolean;
  readonly signer?: { readonly publicKey: Uint8Array; sign(message: Uint8Array): Uint8Array }; // default: //Alice
  readonly scheme?: "Sr25519" | "Ed25519" | "Ecdsa";
  readonly version?: number; // first byte of the body
  readonly damage?: (signature: Uint8Array) => Uint8Array;
}

export function sampleExtrinsic(genesisHash: Uint8Array, of: Spelling = {}): Uint8Array {
  const callBytes = testScale.encode("RuntimeCall", of.call ?? subnetCall("burned_register", [9, bob.publicKey]));
  const carried = new ScaleWriter();
  testScale.write("Era", of.era ?? { type: "Immortal" }, carried);
  carried.compact(of.nonce ?? 0);
  carried.compact(0); // tip
  carried.u8(of.checksMetadata === true ? 1 : 0);
  const payload = new ScaleWriter();
  payload.raw(callBytes);
  payload.raw(carried.bytes());
  payload.u32(of.specVersion ?? testRuntime.surface.specVersion);
  payload.u32(testRuntime.surface.transactionVersion);
  payload.raw(of.signedGenesis ?? genesisHash);
  payload.raw(of.eraHash ?? genesisHash);
  payload.u8(0);
  const bytes = payload.bytes();
  const signer = of.signer ?? alice;
  const signature = signer.sign(bytes.length > 256 ? blake2AsU8a(bytes) : bytes);
  const body = new ScaleWriter();
  body.u8(of.version ?? 0x84); // 4, signed
  testScale.write("MultiAddress", { type: "Id", value: signer.publicKey }, body);
  testScale.write("MultiSignature", { type: of.scheme ?? "Sr25519", value: of.damage?.(signature) ?? signature }, body);
  body.raw(carried.bytes());
  body.raw(callBytes);
  const whole = new ScaleWriter();
  whole.blob(body.bytes());
  return whole.bytes();
}
