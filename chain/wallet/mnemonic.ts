/**
 * Mnemonics as Substrate reads them. The words are BIP-39's, the key derivation is not: PBKDF2 runs over the entropy
 * behind the words, not over their text, and the first 32 bytes are the sr25519 mini-secret.
 *
 * Owns: phrase to mini-secret, new phrases. Rejects: phrases with a wrong checksum or unknown words (null).
 */

import { pbkdf2 } from "@noble/hashes/pbkdf2.js";
import { sha512 } from "@noble/hashes/sha2.js";
import { generateMnemonic, mnemonicToEntropy, validateMnemonic } from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";

const entropyBits = 128; // 12 words, as Bittensor's own tools make them
const pbkdf2Rounds = 2048;
const miniSecretBytes = 32;

export function newMnemonic(): string {
  return generateMnemonic(wordlist, entropyBits);
}

/**
 * The 32-byte mini-secret of a phrase, or null if the phrase is invalid. `password` is the part after `///` of a secret
 * URI; keyfiles have none.
 */
export function miniSecretOfMnemonic(phrase: string, password = ""): Uint8Array | null {
  const words = phrase.trim().split(/\s+/).join(" ");
  if (!validateMnemonic(words, wordlist)) return null;
  const entropy = mnemonicToEntropy(words, wordlist);
  const salt = new TextEncoder().encode(`mnemonic${password}`);
  return pbkdf2(sha512, entropy, salt, { c: pbkdf2Rounds, dkLen: 64 }).slice(0, miniSecretBytes);
}
