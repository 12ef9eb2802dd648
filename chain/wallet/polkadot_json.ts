/**
 * Accounts exported by polkadot-js and its extensions: JSON with a sealed key (scrypt and secretbox) in a PKCS #8-like
 * wrapper. The file chooses the scrypt parameters, so those that would exhaust memory are rejected.
 */

import { hotkeyOfHalfEd25519SecretKey } from "./hotkey.ts";
import { KeyMaterial } from "./key_material.ts";
import { WalletError } from "./wallet_error.ts";

const saltBytes = 32;
const headBytes = saltBytes + 12; // salt, then N, p, r as u32 little-endian
const nonceBytes = 24;
const mostCost = 2 ** 17; // polkadot-js' own: 128 MiB with r = 8
const mostPasses = 10; // its older files
const wrapperHead = Uint8Array.fromHex("3053020101300506032b657004220420");
const wrapperDivider = Uint8Array.fromHex("a123032100");
const secretBytes = 64;
const publicKeyBytes = 32;

export interface PolkadotExport {
  readonly encoded: Uint8Array;
  readonly content: readonly string[];
  readonly type: readonly string[];
  readonly version: string;
}

/** Null: possibly a keyfile. */
export function parsePolkadotExport(text: string): PolkadotExport | null {
  try {
    const { encoded, encoding } = JSON.parse(text) as Record<string, unknown>;
    const { content, type, version } = encoding as Record<string, unknown>;
    if (typeof encoded !== "string" || !Array.isArray(content) || !Array.isArray(type)) return null;
    return {
      encoded: Uint8Array.fromBase64(encoded),
      content: content.map(String),
      type: type.map(String),
      version: String(version),
    };
  } catch {
    return null; // the parser's message would quote the file
  }
}

interface OpenExportOptions {
  readonly password: string;
  readonly path: string;
}

export async function openPolkadotExport(
  file: PolkadotExport,
  { password, path }: OpenExportOptions,
): Promise<KeyMaterial> {
  if (
    file.version !== "3" || file.type.join() !== "scrypt,xsalsa20-poly1305" || file.content.join() !== "pkcs8,sr25519"
  ) {
    const found = /^[\w,. -]{1,60}$/.test(file.content.join()) ? file.content.join() : "another";
    throw new WalletError(
      "malformed",
      `Cannot use ${path}: only version 3 exports of polkadot-js are read, encrypted, of an sr25519 account; its content is ${found}`,
    );
  }
  const wrapped = await unseal(file.encoded, { password, path });
  if (wrapped === null) {
    throw new WalletError("wrongPassword", `Cannot open ${path}: the password is not the one it was exported with`);
  }
  const secretAt = wrapperHead.length;
  const publicAt = secretAt + secretBytes + wrapperDivider.length;
  const framed = wrapped.length === publicAt + publicKeyBytes && startsWith(wrapped, wrapperHead) &&
    startsWith(wrapped.subarray(secretAt + secretBytes), wrapperDivider);
  const pair = framed ? hotkeyOfHalfEd25519SecretKey(wrapped.slice(secretAt, secretAt + secretBytes)) : null;
  if (pair === null || pair.publicKey.toHex() !== wrapped.subarray(publicAt).toHex()) {
    throw new WalletError("malformed", `Cannot use ${path}: the key inside is not an sr25519 pair`);
  }
  return new KeyMaterial(pair);
}

async function unseal(encoded: Uint8Array, { password, path }: OpenExportOptions): Promise<Uint8Array | null> {
  if (encoded.length < headBytes + nonceBytes) return null;
  const head = new DataView(encoded.buffer, encoded.byteOffset, headBytes);
  const [costFactor, parallelism, blockSize] = [0, 4, 8].map((at) => head.getUint32(saltBytes + at, true)) as [
    number,
    number,
    number,
  ];
  const isPowerOfTwo = costFactor > 1 && (costFactor & (costFactor - 1)) === 0;
  if (!isPowerOfTwo || costFactor > mostCost || parallelism < 1 || parallelism > mostPasses || blockSize !== 8) {
    throw new WalletError(
      "malformed",
      `Cannot open ${path}: its scrypt must have N up to ${mostCost}, p up to ${mostPasses} and r 8, but has ${costFactor}, ${parallelism} and ${blockSize}`,
    );
  }
  const { scrypt } = await import("hash-wasm");
  const { xsalsa20poly1305 } = await import("@noble/ciphers/salsa.js");
  const salt = encoded.subarray(0, saltBytes);
  const derived = await scrypt({
    password: new TextEncoder().encode(password),
    salt,
    costFactor,
    blockSize,
    parallelism,
    hashLength: 64,
    outputType: "binary",
  });
  const cipher = xsalsa20poly1305(derived.subarray(0, 32), encoded.subarray(headBytes, headBytes + nonceBytes));
  try {
    return cipher.decrypt(encoded.subarray(headBytes + nonceBytes));
  } catch {
    return null; // wrong seal
  }
}

function startsWith(bytes: Uint8Array, head: Uint8Array): boolean {
  return head.every((byte, i) => bytes[i] === byte);
}
