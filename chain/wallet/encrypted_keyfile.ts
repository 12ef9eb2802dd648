/**
 * Encrypted keyfiles: `$NACL`, a nonce of 24 bytes, then an XSalsa20-Poly1305 secretbox of the JSON text.
 *
 * The key is derived by argon2i with a salt that all files share (Bittensor's choice), so only the password protects
 * it. It takes 6 to 8 s and 512 MiB; hash-wasm is the fastest package without native code (@noble/hashes: 45 s).
 */

import { present } from "../../core/assert.ts";

/** 32 bytes; tests inject a cheap one. */
export type DeriveKey = (password: string) => Promise<Uint8Array>;

export type Encryption = "none" | "nacl" | "ansible" | "fernet";

const salt = Uint8Array.fromHex("137183dff15a09bc9c90b5518739e9b1");
const iterations = 8; // libsodium's "sensitive" for argon2i, unlike argon2id's
const memoryKibibytes = 524_288;
const keyBytes = 32;
const nonceBytes = 24;
const magics: readonly (readonly [Encryption, string])[] = [
  ["nacl", "$NACL"],
  ["ansible", "$ANSIBLE_VAULT"],
  ["fernet", "gAAAAA"],
];
const naclMagic = new TextEncoder().encode("$NACL");

export const deriveArgon2iKey: DeriveKey = async (password) => {
  const { argon2i } = await import("hash-wasm");
  return await argon2i({
    password: new TextEncoder().encode(password),
    salt,
    iterations,
    memorySize: memoryKibibytes,
    parallelism: 1,
    hashLength: keyBytes,
    outputType: "binary",
  });
};

export function encryptionOf(file: Uint8Array): Encryption {
  const head = String.fromCharCode(...file.subarray(0, 16));
  return magics.find(([, magic]) => head.startsWith(magic))?.[0] ?? "none";
}

interface Unlocking {
  readonly password: string; // not empty
  readonly deriveKey?: DeriveKey | undefined; // default: Bittensor's argon2i
}

export async function encryptKeyfile(text: string, unlocking: Unlocking): Promise<Uint8Array> {
  const nonce = crypto.getRandomValues(new Uint8Array(nonceBytes));
  const box = (await secretbox(unlocking, nonce)).encrypt(new TextEncoder().encode(text));
  const file = new Uint8Array(naclMagic.length + nonceBytes + box.length);
  file.set(naclMagic);
  file.set(nonce, naclMagic.length);
  file.set(box, naclMagic.length + nonceBytes);
  return file;
}

/** Null: wrong password or damaged. */
export async function decryptKeyfile(file: Uint8Array, unlocking: Unlocking): Promise<string | null> {
  const nonce = file.subarray(naclMagic.length, naclMagic.length + nonceBytes);
  if (nonce.length < nonceBytes) return null;
  const cipher = await secretbox(unlocking, nonce);
  try {
    return new TextDecoder().decode(cipher.decrypt(file.subarray(naclMagic.length + nonceBytes)));
  } catch {
    return null; // wrong seal
  }
}

async function secretbox({ password, deriveKey = deriveArgon2iKey }: Unlocking, nonce: Uint8Array) {
  const { xsalsa20poly1305 } = await import("@noble/ciphers/salsa.js");
  const key = await deriveKey(present(password || null, "A password is not empty"));
  return xsalsa20poly1305(key, nonce);
}
