/**
 * A key with its phrase or mini-secret in private fields, for keyfiles. A phrase is kept only if it alone gives the
 * key: with a password or derivation path, other tools would load another key.
 */

import { hotkeyOfMiniSecret, type HotkeyPair, selfTest } from "./hotkey.ts";
import { assert, present } from "../../core/assert.ts";
import { pbkdf2 } from "@noble/hashes/pbkdf2.js";
import { sha512 } from "@noble/hashes/sha2.js";
import { generateMnemonic, mnemonicToEntropy, validateMnemonic } from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";

export class KeyMaterial {
  readonly pair: HotkeyPair;
  readonly #mnemonic: string | null;
  readonly #miniSecret: Uint8Array | null;

  constructor(pair: HotkeyPair, made: { mnemonic?: string; miniSecret?: Uint8Array } = {}) {
    assert(selfTest(pair), "A key verifies its own signature");
    this.pair = pair;
    this.#mnemonic = made.mnemonic ?? null;
    this.#miniSecret = made.miniSecret ?? null;
  }

  /** For keyfiles, and to show once. */
  revealMnemonic(): string | null {
    return this.#mnemonic;
  }

  /** For keyfiles. */
  revealMiniSecret(): Uint8Array | null {
    return this.#miniSecret;
  }
}

export function newKeyMaterial(): KeyMaterial {
  return present(keyOfMnemonic(newMnemonic()), "A new mnemonic is valid");
}

export function keyOfMnemonic(words: string, password = ""): KeyMaterial | null {
  const miniSecret = miniSecretOfMnemonic(words, password);
  if (miniSecret === null) return null;
  const mnemonic = words.trim().split(/\s+/).join(" ");
  return new KeyMaterial(hotkeyOfMiniSecret(miniSecret), password === "" ? { mnemonic, miniSecret } : { miniSecret });
}

export function keyOfMiniSecret(miniSecret: Uint8Array): KeyMaterial {
  return new KeyMaterial(hotkeyOfMiniSecret(miniSecret), { miniSecret });
}

/**
 * The words are BIP-39's, the derivation is not: PBKDF2 over their entropy; the first 32 bytes are the sr25519
 * mini-secret.
 */
const entropyBits = 128; // 12 words, as in Bittensor's tools
const pbkdf2Rounds = 2048;
const miniSecretBytes = 32;

export function newMnemonic(): string {
  return generateMnemonic(wordlist, entropyBits);
}

export function miniSecretOfMnemonic(phrase: string, password = ""): Uint8Array | null {
  const words = phrase.trim().split(/\s+/).join(" ");
  if (!validateMnemonic(words, wordlist)) return null;
  const entropy = mnemonicToEntropy(words, wordlist);
  const salt = new TextEncoder().encode(`mnemonic${password}`);
  return pbkdf2(sha512, entropy, salt, { c: pbkdf2Rounds, dkLen: 64 }).slice(0, miniSecretBytes);
}
