/**
 * What both signing schemes share: the hash of a body, a signature as hex, the shape of a verifier.
 * Secrets and curves stay with the wallet: signer and verifier are arguments.
 */

import { sha256 } from "@noble/hashes/sha2.js";
import type { Address, ChainSigner } from "../call.ts";

/** Whether the holder of `address` signed these bytes with sr25519; never throws. chain/wallet has one. */
export type VerifySignature = (signed: { address: Address; message: Uint8Array; signature: Uint8Array }) => boolean;

/** A request as it travels. `target` is the path with its query, exactly as sent; `body` the raw bytes. */
export interface HttpRequest {
  readonly method: string;
  readonly target: string;
  readonly body: Uint8Array;
}

/** `Headers` has this shape. Names are looked up without regard to case. */
export interface HeaderSource {
  get(name: string): string | null;
}

const signatureText = /^(?:0x)?([0-9a-f]{128})$/i;

export const sha256Hex = (body: Uint8Array): string => sha256(body).toHex();
export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

export const signedHex = (signer: ChainSigner, text: string): string => `0x${signer.sign(bytesOf(text)).toHex()}`;

/** 64 bytes, or null for any other text. */
export function signatureOf(text: string | null): Uint8Array | null {
  const digits = signatureText.exec(text ?? "")?.[1];
  return digits === undefined ? null : Uint8Array.fromHex(digits);
}
