/** Key files in every current format of Bittensor's tools, with the public file beside each. */

import { decryptKeyfile, type DeriveKey, type Encryption, encryptionOf } from "./encrypted_keyfile.ts";
import { existsError, keyFileExists, readKeyFile, writeKeyFile } from "./key_disk.ts";
import type { KeyMaterial } from "./key_material.ts";
import { keyOfKeyfile, publicKeyfileText, publicKeyOfKeyfile } from "./keyfile.ts";
import { openPolkadotExport, parsePolkadotExport } from "./polkadot_json.ts";
import { WalletError } from "./wallet_error.ts";
import { assert } from "../../core/assert.ts";

/** The password is requested only for sealed files. */
export interface Unlock {
  readonly password: () => Promise<string>;
  readonly deriveKey?: DeriveKey | undefined;
}

export interface OpenedKey {
  readonly key: KeyMaterial;
  readonly password: string | null; // that sealed it
}

/** Also accepts an export of polkadot-js. */
export async function openKeyFile(path: string, { password, deriveKey }: Unlock): Promise<OpenedKey> {
  const bytes = await readKeyFile(path);
  const encryption = encryptionOf(bytes);
  if (encryption === "nacl") {
    const given = await password();
    const text = await decryptKeyfile(bytes, { password: given, deriveKey });
    if (text === null) {
      throw new WalletError(
        "wrongPassword",
        `Cannot open ${path}: the password is wrong`,
      );
    }
    return { key: keyOfKeyfile(text, path), password: given };
  }
  const text = plainText(bytes, { encryption, path });
  const exported = parsePolkadotExport(text);
  if (exported === null) return { key: keyOfKeyfile(text, path), password: null };
  const given = await password();
  return { key: await openPolkadotExport(exported, { password: given, path }), password: given };
}

/** Nodes start with no one to type a password. */
export async function readPlainKeyFile(path: string): Promise<string> {
  const bytes = await readKeyFile(path);
  const encryption = encryptionOf(bytes);
  if (encryption === "nacl") {
    throw new WalletError(
      "encrypted",
      `Cannot use ${path}: it is encrypted, as coldkeys are, and a hotkey file must not be`,
    );
  }
  return plainText(bytes, { encryption, path });
}

function plainText(bytes: Uint8Array, { encryption, path }: { encryption: Encryption; path: string }): string {
  if (encryption === "none") return new TextDecoder().decode(bytes);
  const format = encryption === "ansible" ? "$ANSIBLE_VAULT" : "Fernet";
  throw new WalletError(
    "oldEncryption",
    `Cannot open ${path}: its encryption is ${format}, an older format of Bittensor's; only $NACL is read`,
  );
}

/** From a public or plain private file; null if there is none. */
export async function readPublicKey(path: string): Promise<Uint8Array | null> {
  if (!await keyFileExists(path)) return null;
  return publicKeyOfKeyfile(new TextDecoder().decode(await readKeyFile(path)), path);
}

interface NewKeyFiles {
  readonly path: string;
  readonly publicPath: string;
  readonly publicKey: Uint8Array;
  readonly overwrite: boolean;
  readonly seal: () => Promise<Uint8Array>; // called only when nothing else can fail
}

/** Secret first: a lone public file would name a key that no one holds. */
export async function writeKeyFiles({ path, publicPath, publicKey, overwrite, seal }: NewKeyFiles): Promise<void> {
  if (!overwrite) await requireRoom({ path, publicPath, publicKey });
  await writeKeyFile({ path, bytes: await seal(), overwrite });
  await writePublicFile({ path: publicPath, publicKey });
}

/** The public file may exist if it names the same key. */
async function requireRoom(files: { path: string; publicPath: string; publicKey: Uint8Array }): Promise<void> {
  if (await keyFileExists(files.path)) throw existsError(files.path);
  await requirePublicRoom({ path: files.publicPath, publicKey: files.publicKey });
}

export async function requirePublicRoom({ path, publicKey }: { path: string; publicKey: Uint8Array }): Promise<void> {
  const named = await readPublicKey(path);
  if (named !== null && named.toHex() !== publicKey.toHex()) throw existsError(path);
}

export async function writePublicFile({ path, publicKey }: { path: string; publicKey: Uint8Array }): Promise<void> {
  const text = publicKeyfileText(publicKey);
  await writeKeyFile({ path, bytes: new TextEncoder().encode(text), overwrite: true });
  assert(publicKeyOfKeyfile(text, path).toHex() === publicKey.toHex(), "A public file names the key it was made from");
}
