/**
 * Bittensor key files as text, with legacy quirks (a key named " ss58Address", a bare phrase or hex seed, `cryptoType`
 * as number, text or object). The first of phrase, seed and private key that gives the named key counts. Error texts
 * quote only addresses and key types.
 */

import { hotkeyOfCanonicalSecretKey, miniSecretBytes, secretKeyBytes } from "./hotkey.ts";
import { KeyMaterial, keyOfMiniSecret, keyOfMnemonic } from "./key_material.ts";
import { decodeAddress, encodeAddress } from "./ss58.ts";
import { WalletError } from "./wallet_error.ts";

type Fields = Readonly<Record<string, unknown>>;

const sr25519 = 1;
const publicKeyBytes = 32;

export function keyfileText(key: KeyMaterial): string {
  const mnemonic = key.revealMnemonic();
  const miniSecret = key.revealMiniSecret();
  return JSON.stringify({
    ...publicFields(key.pair.publicKey),
    privateKey: `0x${key.pair.canonicalSecretKey().toHex()}`,
    ...(mnemonic === null ? {} : { secretPhrase: mnemonic }),
    ...(miniSecret === null ? {} : { secretSeed: `0x${miniSecret.toHex()}` }),
  });
}

export function publicKeyfileText(publicKey: Uint8Array): string {
  return JSON.stringify(publicFields(publicKey));
}

function publicFields(publicKey: Uint8Array) {
  const hex = `0x${publicKey.toHex()}`;
  return { accountId: hex, publicKey: hex, ss58Address: encodeAddress(publicKey), cryptoType: sr25519 };
}

export function keyOfKeyfile(text: string, path: string): KeyMaterial {
  const content = text.trim();
  const fields = content.startsWith("{") ? jsonFields(content, path) : bareFields(content);
  requireSr25519(fields, path);
  const candidates = secretsOf(fields);
  const first = candidates[0];
  if (first === undefined) {
    throw new WalletError(
      "malformed",
      `Cannot use ${path}: it holds no valid secretPhrase, secretSeed or privateKey`,
    );
  }
  const match = candidates.find(({ pair }) => namesKey(fields, pair.publicKey));
  if (match !== undefined) return match;
  const named = addressField(fields) ?? textField(fields, "publicKey") ?? textField(fields, "accountId");
  throw new WalletError(
    "mismatch",
    `Cannot use ${path}: its secret and its address do not match: it names '${printableKey(named)}', ` +
      `the secret gives ${first.pair.address}`,
  );
}

/** Reads no secrets. */
export function publicKeyOfKeyfile(text: string, path: string): Uint8Array {
  const fields = jsonFields(text.trim(), path);
  requireSr25519(fields, path);
  const address = addressField(fields);
  const publicKey = address === undefined
    ? hexField(fields, "publicKey", publicKeyBytes) ?? hexField(fields, "accountId", publicKeyBytes)
    : decodeAddress(address);
  if (publicKey === null) {
    throw new WalletError(
      "malformed",
      `Cannot use ${path}: it names no ss58Address with prefix 42`,
    );
  }
  if (namesKey(fields, publicKey)) return publicKey;
  throw new WalletError(
    "mismatch",
    `Cannot use ${path}: its ss58Address and publicKey name different keys`,
  );
}

function jsonFields(content: string, path: string): Fields {
  let value: unknown = null;
  try {
    value = JSON.parse(content);
  } catch {
    // the parser's message would quote the secret
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new WalletError("malformed", `Cannot use ${path}: it is not one JSON object`);
  }
  return value as Fields;
}

/** Files from before the JSON form. */
function bareFields(content: string): Fields {
  return /\s/.test(content) ? { secretPhrase: content } : { secretSeed: content };
}

function requireSr25519(fields: Fields, path: string): void {
  const name = cryptoName(fields["cryptoType"]);
  if (name === null || name === "1" || name === "sr25519") return;
  const shown = name === "0" || name === "ed25519" ? "ed25519" : "unknown";
  throw new WalletError("malformed", `Cannot use ${path} as its cryptoType must be sr25519: current value is ${shown}`);
}

/** 1, "1", "sr25519", "Sr25519", {"Sr25519": null} or ["Sr25519"]; null: none. */
function cryptoName(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== "object") return String(value).toLowerCase();
  const parts = Array.isArray(value) ? value : Object.keys(value);
  return parts.length === 1 ? String(parts[0]).toLowerCase() : "";
}

/** In Bittensor's load order. */
function secretsOf(fields: Fields): KeyMaterial[] {
  const phrase = textField(fields, "secretPhrase");
  const seed = hexField(fields, "secretSeed", miniSecretBytes);
  const secretKey = hexField(fields, "privateKey", secretKeyBytes);
  const pair = secretKey === null ? null : hotkeyOfCanonicalSecretKey(secretKey);
  const keys = [
    phrase === undefined ? null : keyOfMnemonic(phrase),
    seed === null ? null : keyOfMiniSecret(seed),
    pair === null ? null : new KeyMaterial(pair),
  ];
  return keys.filter((key) => key !== null);
}

function namesKey(fields: Fields, publicKey: Uint8Array): boolean {
  const address = addressField(fields);
  if (address !== undefined && address !== encodeAddress(publicKey)) return false;
  const hex = publicKey.toHex();
  return ["publicKey", "accountId"].every((name) => {
    const named = textField(fields, name);
    return named === undefined || named.replace(/^0x/, "").toLowerCase() === hex;
  });
}

function addressField(fields: Fields): string | undefined {
  return textField(fields, "ss58Address") ?? textField(fields, " ss58Address");
}

function textField(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function hexField(fields: Fields, name: string, bytes: number): Uint8Array | null {
  const hex = textField(fields, name)?.replace(/^0x/, "") ?? "";
  return hex.length === 2 * bytes && /^[0-9a-f]+$/i.test(hex) ? Uint8Array.fromHex(hex) : null;
}

/** Only addresses: a damaged file may hold a secret there. */
function printableKey(named: string | undefined): string {
  return named !== undefined && decodeAddress(named) !== null ? named : "another key";
}
