/** Why a wallet cannot be used: `code` is for branching, the message for reading. */

export type WalletErrorCode =
  | "missing"
  | "exists" // would be overwritten
  | "encrypted" // a node reads only plaintext hotkeys
  | "oldEncryption" // only Bittensor's package converts it
  | "wrongPassword"
  | "malformed"
  | "mismatch"
  | "coldkey" // a coldkey where a hotkey must be
  | "badName" // it would point outside the wallet folder
  | "diskFull" // or over the quota
  | "unreadable";

export class WalletError extends Error {
  override name = "WalletError";
  readonly code: WalletErrorCode;

  constructor(code: WalletErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
