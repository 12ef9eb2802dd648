/** Why a wallet cannot be used: `code` is for branching, the message for reading. */

export type WalletErrorCode =
  | "missing" // no such file
  | "exists" // a new key would overwrite one
  | "encrypted" // a node reads plaintext hotkeys only
  | "oldEncryption" // a format that only Bittensor's own package converts
  | "wrongPassword"
  | "malformed" // not a key file, or a key of another kind
  | "mismatch" // the secret gives an address other than the file's
  | "coldkey" // a coldkey where a hotkey must be
  | "badName" // a name that would point outside the wallet folder
  | "diskFull" // or this user's quota is used up
  | "unreadable"; // another file system error

export class WalletError extends Error {
  override name = "WalletError";
  readonly code: WalletErrorCode;

  constructor(code: WalletErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
