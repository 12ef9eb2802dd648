/**
 * Signed extrinsics and their signatures.
 *
 * Version 4: length, 0x84, address, signature, extension data, call. Signed are call ++ carried ++ implied, or their
 * blake2-256 if longer than 256 bytes. Implied are the runtime's version, the genesis and the hash of the era's first
 * block.
 */

import { ed25519 } from "@noble/curves/ed25519.js";
import { blake2b } from "@noble/hashes/blake2.js";
import { present } from "../../../core/assert.ts";
import { encodeAddress } from "../../wallet/ss58.ts";
import { verifySignature } from "../../wallet/hotkey.ts";
import type { AccountId } from "../block/ledger.ts";
import type { Runtime } from "../surface/runtime.ts";
import { ScaleError, ScaleReader, ScaleWriter } from "../surface/scale_bytes.ts";
import { badFormat, invalidTransaction, undecodable, unsignedExtrinsic } from "./rpc_error.ts";

const signedVersion4 = 0x84;
const unsignedVersion4 = 0x04;
const longestUnhashedPayload = 256;

export interface RuntimeCall {
  readonly pallet: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

export interface SignedExtrinsic {
  readonly bytes: Uint8Array; // with the length
  readonly hash: Uint8Array;
  readonly from: AccountId;
  readonly nonce: number;
  readonly call: RuntimeCall;
}

export interface SigningScope {
  readonly runtime: Runtime;
  readonly genesisHash: Uint8Array;
  readonly headBlock: number;
  blockHash(block: number): Uint8Array | null;
}

/** Throws `RpcError`. */
export function openExtrinsic(bytes: Uint8Array, scope: SigningScope): SignedExtrinsic {
  const body = unwrap(bytes);
  const parts = takeApart(body, scope.runtime);
  const implied = impliedBytes(parts.carried, scope);
  const payload = joined(parts.callBytes, parts.carriedBytes, implied);
  const message = payload.length > longestUnhashedPayload ? blake2b(payload, { dkLen: 32 }) : payload;
  if (!isSignedBy(parts.from, { message, signature: parts.signature })) throw invalidTransaction("badProof");
  return { bytes, hash: blake2b(bytes, { dkLen: 32 }), from: parts.from, nonce: parts.carried.nonce, call: parts.call };
}

export function extrinsicHash(bytes: Uint8Array): Uint8Array {
  return blake2b(bytes, { dkLen: 32 });
}

function unwrap(bytes: Uint8Array): Uint8Array {
  const reader = new ScaleReader(bytes);
  try {
    const body = reader.blob();
    reader.end();
    return body;
  } catch (error) {
    if (error instanceof ScaleError) throw badFormat(error.message);
    throw error;
  }
}

interface MultiSignature {
  readonly type: string;
  readonly value: Uint8Array;
}

interface Carried {
  readonly era: Era | null; // null: immortal
  readonly nonce: number;
  readonly checksMetadata: boolean;
}

interface Parts {
  readonly from: AccountId;
  readonly signature: MultiSignature;
  readonly carried: Carried;
  readonly carriedBytes: Uint8Array;
  readonly callBytes: Uint8Array;
  readonly call: RuntimeCall;
}

function takeApart(body: Uint8Array, { surface, scale }: Runtime): Parts {
  const reader = new ScaleReader(body);
  try {
    const version = reader.u8();
    if (version === unsignedVersion4) throw unsignedExtrinsic();
    if (version !== signedVersion4) throw new ScaleError(`its version must be 4, signed: current value is ${version}`);
    const address = scale.read("MultiAddress", reader) as { type: string; value: Uint8Array };
    if (address.type !== "Id") {
      throw new ScaleError(`its signer must be an account id: current value is ${address.type}`);
    }
    const signature = scale.read("MultiSignature", reader) as MultiSignature;
    const carriedStart = reader.position;
    const values = new Map(surface.extensions.map(({ name, carried }) => [name, scale.read(carried, reader)]));
    const callStart = reader.position;
    const call = scale.read("RuntimeCall", reader);
    reader.end();
    return {
      from: address.value,
      signature,
      carried: carriedOf(values),
      carriedBytes: body.slice(carriedStart, callStart),
      callBytes: body.slice(callStart),
      call: callOf(call, surface.pallets),
    };
  } catch (error) {
    if (error instanceof ScaleError) throw undecodable(error.message);
    throw error;
  }
}

function carriedOf(values: ReadonlyMap<string, unknown>): Carried {
  const nonce = values.get("CheckNonce") as bigint;
  if (nonce > 0xffff_ffffn) throw new ScaleError(`a nonce must fit 32 bits: current value is ${nonce}`);
  const { mode } = values.get("CheckMetadataHash") as { mode: { type: string } };
  return {
    era: eraOf(values.get("CheckMortality") as Parameters<typeof eraOf>[0]),
    nonce: Number(nonce),
    checksMetadata: mode.type === "Enabled",
  };
}

function callOf(decoded: unknown, pallets: Runtime["surface"]["pallets"]): RuntimeCall {
  const { type: pallet, value } = decoded as { type: string; value: { type: string; value: unknown } };
  const declared = present(
    pallets.find(({ name }) => name === pallet)?.calls.find(({ name }) => name === value.type),
    `Cannot name the arguments of ${pallet}.${value.type}: it is not declared`,
  );
  const values = declared.args.length === 1 ? [value.value] : value.value as unknown[];
  return {
    pallet,
    name: value.type,
    args: Object.fromEntries(declared.args.map(([name], i) => [name, values[i]])),
  };
}

function impliedBytes({ era, checksMetadata }: Carried, scope: SigningScope): Uint8Array {
  const { surface, scale } = scope.runtime;
  if (checksMetadata) throw invalidTransaction("badProof"); // not computed here
  const implied: Readonly<Record<string, unknown>> = {
    CheckSpecVersion: surface.specVersion,
    CheckTxVersion: surface.transactionVersion,
    CheckGenesis: scope.genesisHash,
    CheckMortality: eraStartHash(era, scope),
    CheckMetadataHash: null,
  };
  const writer = new ScaleWriter();
  for (const extension of surface.extensions) scale.write(extension.implied, implied[extension.name], writer);
  return writer.bytes();
}

function eraStartHash(era: Carried["era"], scope: SigningScope): Uint8Array {
  if (era === null) return scope.genesisHash;
  const hash = scope.blockHash(eraBirthBlock(era, scope.headBlock));
  if (hash === null) throw invalidTransaction("ancientBirthBlock");
  return hash;
}

function isSignedBy(account: AccountId, signed: { message: Uint8Array; signature: MultiSignature }): boolean {
  const { message, signature } = signed;
  if (signature.type === "Sr25519") {
    return verifySignature({ address: encodeAddress(account), message, signature: signature.value });
  }
  if (signature.type !== "Ed25519") return false; // wallets hold no ecdsa account
  try {
    return ed25519.verify(signature.value, message, account);
  } catch {
    return false; // not a curve point
  }
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const writer = new ScaleWriter();
  for (const part of parts) writer.raw(part);
  return writer.bytes();
}

/** Blocks in which a signature is valid: two bytes for period (a power of two) and phase. */
interface Era {
  readonly periodBlocks: number;
  readonly phaseBlocks: number;
}

const finestPhases = 4096; // longer periods have coarser phases

/** `Immortal | Mortal1(u8) … Mortal255(u8)`: the variant's number is the first byte. Null: immortal. */
function eraOf(encoded: { readonly type: string; readonly value: unknown }): Era | null {
  if (encoded.type === "Immortal") return null;
  const bits = Number(encoded.type.slice("Mortal".length)) | Number(encoded.value) << 8;
  const periodBlocks = 2 << (bits & 15);
  const phaseBlocks = (bits >> 4) * Math.max(1, Math.floor(periodBlocks / finestPhases));
  if (periodBlocks < 4 || phaseBlocks >= periodBlocks) {
    throw new ScaleError(`an era's phase must be below its period: current values are ${phaseBlocks}, ${periodBlocks}`);
  }
  return { periodBlocks, phaseBlocks };
}

function eraBirthBlock({ periodBlocks, phaseBlocks }: Era, headBlock: number): number {
  return Math.floor((Math.max(headBlock, phaseBlocks) - phaseBlocks) / periodBlocks) * periodBlocks + phaseBlocks;
}
