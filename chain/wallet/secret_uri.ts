/**
 * Substrate's secret URIs: `PHRASE//hard/soft///password`, a hex seed instead of the phrase, or only a path from the
 * development phrase (`//Alice`). Anything else gives null, because error texts must not quote it.
 */

import { blake2b } from "@noble/hashes/blake2.js";
import { miniSecretBytes } from "./hotkey.ts";
import { KeyMaterial, keyOfMiniSecret, keyOfMnemonic } from "./key_material.ts";

const developmentPhrase = "bottom drive obey lake curtain smoke basket hold race lonely fit walk"; // public
const chainCodeBytes = 32;
const largestU64 = 2n ** 64n - 1n;
const grammar = /^(?<secret>[^/]*)(?<path>(?:\/\/?[^/]+)*)(?:\/\/\/(?<password>.*))?$/s;

export function keyOfSecretUri(uri: string): KeyMaterial | null {
  const { secret = "", path = "", password = "" } = grammar.exec(uri)?.groups ?? {};
  if (secret === "" && path === "") return null;
  const root = keyOfSecret(secret.trim(), password);
  if (root === null || path === "") return root;
  let pair = root.pair;
  for (const [, slashes, code] of path.matchAll(/(\/\/?)([^/]+)/g)) {
    pair = pair.derive({ chainCode: chainCodeOf(code!), isHard: slashes === "//" });
  }
  return new KeyMaterial(pair);
}

function keyOfSecret(secret: string, password: string): KeyMaterial | null {
  const hex = secret.replace(/^0x/, "");
  if (hex.length === 2 * miniSecretBytes && /^[0-9a-f]+$/i.test(hex)) {
    return password === "" ? keyOfMiniSecret(Uint8Array.fromHex(hex)) : null; // seeds have no password
  }
  if (secret !== "" || password !== "") return keyOfMnemonic(secret === "" ? developmentPhrase : secret, password);
  return developmentRoot ??= keyOfMnemonic(developmentPhrase, "");
}

/** Cached: a phrase takes 0.1 s, and a local chain derives several keys per node. */
let developmentRoot: KeyMaterial | null = null;

/** Little-endian number, or text in SCALE, hashed if too long. */
function chainCodeOf(junction: string): Uint8Array {
  const code = new Uint8Array(chainCodeBytes);
  const number = /^\+?\d+$/.test(junction) ? BigInt(junction.replace("+", "")) : null;
  if (number !== null && number <= largestU64) {
    new DataView(code.buffer).setBigUint64(0, number, true);
    return code;
  }
  const text = new TextEncoder().encode(junction);
  const encoded = new Uint8Array([...compactLength(text.length), ...text]);
  if (encoded.length > chainCodeBytes) return blake2b(encoded, { dkLen: chainCodeBytes });
  code.set(encoded);
  return code;
}

/** For lengths below 2^30. */
function compactLength(length: number): number[] {
  if (length < 64) return [length << 2];
  const value = (length << 2) | (length < 2 ** 14 ? 1 : 2);
  const bytes = length < 2 ** 14 ? 2 : 4;
  return Array.from({ length: bytes }, (_, i) => (value >>> (8 * i)) & 255);
}
