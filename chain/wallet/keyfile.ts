/**
 * The text of a Bittensor hotkey file, both ways.
 *
 * Owns: the JSON shape with its legacy quirks (a key named " ss58Address", a bare mnemonic or hex seed instead of JSON,
 * `cryptoType` as number or text) and the choice among the secrets in one file: phrase, then seed, then private key, the first
 * that gives the file's own address. Refuses: encrypted files, other key types, secrets that give another address.
 * No error text holds any part of the file but an address or a key type.
 */

import {
  hotkeyOfCanonicalSecretKey,
  hotkeyOfMiniSecret,
  type HotkeyPair,
  miniSecretBytes,
  secretKeyBytes,
} from "./hotkey.ts";
import { miniSecretOfMnemonic } from "./mnemonic.ts";
import { WalletError } from "./wallet_error.ts";

type Fields = Readonly<Record<string, unknown>>;

const encryptedPrefixes = ["$NACL", "$ANSIBLE_VAULT", "gAAAAA"];
const sr25519 = 1;

export interface NewKeyfile {
  readonly pair: HotkeyPair;
  readonly mnemonic: string;
  readonly miniSecret: Uint8Array;
}

/** What Bittensor's own tools write for a plaintext hotkey. */
export function keyfileText({ pair, mnemonic, miniSecret }: NewKeyfile): string {
  const publicKey = `0x${pair.publicKey.toHex()}`;
  return JSON.stringify({
    accountId: publicKey,
    publicKey,
    privateKey: `0x${pair.canonicalSecretKey().toHex()}`,
    secretPhrase: mnemonic,
    secretSeed: `0x${miniSecret.toHex()}`,
    ss58Address: pair.address,
  });
}

/** `path` is only for the error text. */
export function hotkeyOfKeyfile(text: string, path: string): HotkeyPair {
  const content = text.trim();
  if (encryptedPrefixes.some((prefix) => content.startsWith(prefix))) {
    throw new WalletError("encrypted", `Cannot use ${path} as a hotkey file must not be encrypted: this one is`);
  }
  const fields = content.startsWith("{") ? jsonFields(content, path) : bareFields(content);
  requireSr25519(fields, path);
  const address = textField(fields, "ss58Address") ?? textField(fields, " ss58Address");
  const candidates = secretsOf(fields);
  if (candidates.length === 0) {
    throw new WalletError(
      "malformed",
      `Cannot use ${path} as a hotkey file must hold a valid secretPhrase, secretSeed or privateKey: it holds none`,
    );
  }
  const match = address === undefined ? candidates[0] : candidates.find((pair) => pair.address === address);
  if (match === undefined) {
    throw new WalletError(
      "mismatch",
      `Cannot use ${path} as its secret must give its ss58Address: it names '${printableAddress(address)}', ` +
        `the secret gives ${candidates[0]!.address}`,
    );
  }
  return match;
}

function jsonFields(content: string, path: string): Fields {
  let value: unknown = null;
  try {
    value = JSON.parse(content);
  } catch {
    // falls through: the parser's own text would quote the file, and with it the secret
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new WalletError(
      "malformed",
      `Cannot use ${path} as a hotkey file must be one JSON object: this one cannot be read`,
    );
  }
  return value as Fields;
}

/** Files older than the JSON form: the phrase or the seed alone. */
function bareFields(content: string): Fields {
  return content.includes(" ") ? { secretPhrase: content } : { secretSeed: content };
}

function requireSr25519(fields: Fields, path: string): void {
  const cryptoType = fields["cryptoType"];
  const fine = cryptoType === undefined || cryptoType === null || cryptoType === sr25519 ||
    /^(1|sr25519)$/i.test(String(cryptoType));
  if (fine) return;
  const shown = cryptoType === 0 || /^(0|ed25519)$/i.test(String(cryptoType)) ? "ed25519" : "unknown";
  throw new WalletError(
    "malformed",
    `Cannot use ${path} as a hotkey's cryptoType must be sr25519: current value is ${shown}`,
  );
}

/** Every secret the file holds, in Bittensor's load order. */
function secretsOf(fields: Fields): HotkeyPair[] {
  const pairs: HotkeyPair[] = [];
  const phrase = textField(fields, "secretPhrase");
  const fromPhrase = phrase === undefined ? null : miniSecretOfMnemonic(phrase);
  if (fromPhrase !== null) pairs.push(hotkeyOfMiniSecret(fromPhrase));
  const seed = hexField(fields, "secretSeed", miniSecretBytes);
  if (seed !== null) pairs.push(hotkeyOfMiniSecret(seed));
  const secretKey = hexField(fields, "privateKey", secretKeyBytes);
  const fromSecretKey = secretKey === null ? null : hotkeyOfCanonicalSecretKey(secretKey);
  if (fromSecretKey !== null) pairs.push(fromSecretKey);
  return pairs;
}

function textField(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function hexField(fields: Fields, name: string, bytes: number): Uint8Array | null {
  const hex = textField(fields, name)?.replace(/^0x/, "") ?? "";
  return hex.length === 2 * bytes && /^[0-9a-f]+$/i.test(hex) ? Uint8Array.fromHex(hex) : null;
}

/** Whatever stands in the file's address field, cut to what an address may look like. */
function printableAddress(address: string | undefined): string {
  return (address ?? "").replace(/[^1-9A-HJ-NP-Za-km-z]/g, "?").slice(0, 50);
}
