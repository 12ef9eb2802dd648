/**
 * The calls that a subnet node sends to the chain, as plain values: one closed union for every implementation.
 *
 * Field names and order are the runtime's own in camel case, so a call translates field by field. Out of scope:
 * encoding (chain/subtensor) and deciding what to send when (chain/duty). Accounts are ss58 addresses with prefix 42;
 * amounts are rao (10^-9 of a token).
 */

export type Address = string;

export interface AxonAddress {
  readonly ip: string; // "203.0.113.7" or "2001:db8::7"
  readonly port: number;
  readonly protocol: number; // the SDK sends 4
  readonly version: number;
}

/** People write `raw`; the others are kept unchanged. */
export interface CommitmentField {
  readonly kind: CommitmentKind;
  readonly bytes: Uint8Array; // at most 128 of `raw`, 512 of `bigRaw`, none of `none`; of hashes 32
}

export type CommitmentKind = "none" | "raw" | "bigRaw" | "blakeTwo256" | "sha256" | "keccak256" | "shaThree256";

export type ChainCall =
  // signed by the coldkey, who pays
  | { type: "burnedRegister"; netuid: number; hotkey: Address; limitRao?: bigint } // refused if the price is higher
  | { type: "registerNetwork"; hotkey: Address }
  | { type: "addStake"; hotkey: Address; netuid: number; amountRao: bigint }
  | { type: "removeStake"; hotkey: Address; netuid: number; amountAlpha: bigint }
  | { type: "transfer"; to: Address; amountRao: bigint }
  // signed by the hotkey, free
  | { type: "serveAxon"; netuid: number; axon: AxonAddress }
  | { type: "setCommitment"; netuid: number; fields: readonly CommitmentField[] } // at most 3; replaces the last one
  | {
    type: "setWeights";
    netuid: number;
    mechanism: number; // 0 goes out as set_weights, others as set_mechanism_weights
    uids: readonly number[];
    values: readonly number[]; // u16 each
    versionKey: bigint;
  }
  | { type: "commitWeights"; netuid: number; mechanism: number; hash: Uint8Array } // 32 bytes
  | {
    type: "revealWeights";
    netuid: number;
    mechanism: number;
    uids: readonly number[];
    values: readonly number[];
    salt: readonly number[]; // u16 each
    versionKey: bigint;
  }
  | {
    type: "commitTimelockedWeights";
    netuid: number;
    mechanism: number;
    commit: Uint8Array; // at most 5,000 bytes
    revealRound: bigint;
    commitRevealVersion: number;
  };

export interface ChainSigner {
  readonly address: Address;
  readonly publicKey: Uint8Array; // 32 bytes
  sign(message: Uint8Array): Uint8Array; // sr25519, 64 bytes
}
