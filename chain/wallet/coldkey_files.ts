/**
 * Coldkeys on disk, encrypted by default, each with `coldkeypub.txt`. Nodes never load one; commands that pay do, for
 * one signature, as a `ChainSigner`. Refuses to overwrite unless requested.
 */

import type { ChainSigner } from "../call.ts";
import { type DeriveKey, encryptionOf, encryptKeyfile } from "./encrypted_keyfile.ts";
import { isOpenToOthers, keyFileExists, readKeyFile } from "./key_disk.ts";
import {
  openKeyFile,
  readPublicKey,
  requirePublicRoom,
  type Unlock,
  writeKeyFiles,
  writePublicFile,
} from "./key_files.ts";
import type { KeyMaterial } from "./key_material.ts";
import { keyfileText } from "./keyfile.ts";
import { decodeAddress, encodeAddress } from "./ss58.ts";
import { WalletError } from "./wallet_error.ts";
import { coldkeyPath, coldkeyPublicPath, type WalletPlace } from "./wallet_place.ts";

export type ColdkeyState = "encrypted" | "plain" | "public only" | "absent";

interface ColdkeyView {
  readonly state: ColdkeyState;
  readonly address: string | null; // null if neither coldkeypub.txt nor a plain coldkey names one
}

export async function viewColdkey(place: WalletPlace): Promise<ColdkeyView> {
  const path = coldkeyPath(place);
  const address = await addressIn(coldkeyPublicPath(place));
  if (!await keyFileExists(path)) return { state: address === null ? "absent" : "public only", address };
  if (encryptionOf(await readKeyFile(path)) !== "none") return { state: "encrypted", address };
  return { state: "plain", address: address ?? await addressIn(path) };
}

async function addressIn(path: string): Promise<string | null> {
  const publicKey = await readPublicKey(path);
  return publicKey === null ? null : encodeAddress(publicKey);
}

export async function coldkeyIsOpenToOthers(place: WalletPlace): Promise<boolean | null> {
  return await isOpenToOthers(coldkeyPath(place));
}

export async function openColdkey(place: WalletPlace, unlock: Unlock): Promise<ChainSigner> {
  const path = coldkeyPath(place);
  const { key } = await openKeyFile(path, unlock);
  const named = await readPublicKey(coldkeyPublicPath(place));
  if (named !== null && named.toHex() !== key.pair.publicKey.toHex()) {
    throw new WalletError(
      "mismatch",
      `Cannot use ${path}: coldkeypub.txt names ${encodeAddress(named)}, but the coldkey is ` +
        `${key.pair.address}`,
    );
  }
  return key.pair;
}

interface NewColdkey {
  readonly key: KeyMaterial;
  readonly password: (() => Promise<string>) | null; // null: plain
  readonly deriveKey?: DeriveKey | undefined;
  readonly overwrite?: boolean;
}

/** The password is requested only when nothing else can fail. */
export async function saveColdkey(
  place: WalletPlace,
  { key, password, deriveKey, overwrite = false }: NewColdkey,
): Promise<string> {
  const path = coldkeyPath(place);
  await writeKeyFiles({
    path,
    publicPath: coldkeyPublicPath(place),
    publicKey: key.pair.publicKey,
    overwrite,
    async seal() {
      const text = keyfileText(key);
      if (password === null) return new TextEncoder().encode(text);
      return await encryptKeyfile(text, { password: await password(), deriveKey });
    },
  });
  return path;
}

/** For machines that must not hold the coldkey. */
export async function saveColdkeyAddress(
  place: WalletPlace,
  { address, overwrite = false }: { address: string; overwrite?: boolean },
): Promise<string> {
  const publicKey = decodeAddress(address);
  if (publicKey === null) {
    throw new WalletError(
      "malformed",
      `Cannot use the address: it is not an ss58 address with prefix 42`,
    );
  }
  const path = coldkeyPublicPath(place);
  if (!overwrite) await requirePublicRoom({ path, publicKey });
  await writePublicFile({ path, publicKey });
  return path;
}
