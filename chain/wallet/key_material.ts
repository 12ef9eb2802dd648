/**
 * A key with its sources (phrase, mini-secret), for writing a keyfile and as the result of reading one.
 *
 * Owns: phrase and mini-secret, in private fields, so that no inspection, JSON or log shows them. Rejects: keys that
 * fail their own sign-and-verify test. A phrase is kept only if it alone gives the key: with an additional password or
 * derivation path, other tools would load another key from the same file.
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

  /** For writing keyfiles, and for showing a new key's phrase to its owner once. */
  revealMnemonic(): string | null {
    return this.#mnemonic;
  }

  /** Only for writing keyfiles. */
  revealMiniSecret(): Uint8Array | null {
    return this.#miniSecret;
  }
}

export function newKeyMaterial(): KeyMaterial {
  return present(keyOfMnemonic(newMnemonic()), "A new mnemonic is valid");
}

/** Null if the words are not a phrase. */
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
 * The words are BIP-39's, the key derivation is not: PBKDF2 runs over the entropy behind the words, not over their
 * text, and the first 32 bytes are the sr25519 mini-secret.
 */
const entropyBits = 128; // 12 words, as Bittensor's own tools make them
const pbkdf2Rounds = 2048;
const miniSecretBytes = 32;

export function newMnemonic(): string {
  return generateMnemonic(wordlist, entropyBits);
}

/** Null if the phrase is invalid. `password` is the part after `///` of a secret URI; keyfiles have none. */
export function miniSecretOfMnemonic(phrase: string, password = ""): Uint8Array | null {
  const words = phrase.trim().split(/\s+/).join(" ");
  if (!validateMnemonic(words, wordlist)) return null;
  const entropy = mnemonicToEntropy(words, wordlist);
  const salt = new TextEncoder().encode(`mnemonic${password}`);
  return pbkdf2(sha512, entropy, salt, { c: pbkdf2Rounds, dkLen: 64 }).slice(0, miniSecretBytes);
}
