/**
 * The calls that a subnet node sends, with the runtime's field names and order. Accounts are ss58 addresses with prefix
 * 42; amounts are rao (10^-9 of a token).
 */

export type Address = string;

export interface AxonAddress {
  readonly ip: string;
  readonly port: number;
  readonly protocol: number; // the SDK sends 4
  readonly version: number;
}

export interface CommitmentField {
  readonly kind: CommitmentKind;
  readonly bytes: Uint8Array; // at most 128 of `raw`, 512 of `bigRaw`, none of `none`; hashes 32
}

export type CommitmentKind = "none" | "raw" | "bigRaw" | "blakeTwo256" | "sha256" | "keccak256" | "shaThree256";

export type ChainCall =
  // signed and paid by the coldkey
  | { type: "burnedRegister"; netuid: number; hotkey: Address; limitRao?: bigint } // refused if the price is higher
  | { type: "registerNetwork"; hotkey: Address }
  | { type: "addStake"; hotkey: Address; netuid: number; amountRao: bigint }
  | { type: "removeStake"; hotkey: Address; netuid: number; amountAlpha: bigint }
  | { type: "transfer"; to: Address; amountRao: bigint }
  // signed by the hotkey, free
  | { type: "serveAxon"; netuid: number; axon: AxonAddress }
  | { type: "setCommitment"; netuid: number; fields: readonly CommitmentField[] } // at most 3 fields
  | {
    type: "setWeights";
    netuid: number;
    mechanism: number; // 0 goes out as set_weights, others as set_mechanism_weights
    uids: readonly number[];
    values: readonly number[]; // u16
    versionKey: bigint;
  }
  | { type: "commitWeights"; netuid: number; mechanism: number; hash: Uint8Array } // 32 bytes
  | {
    type: "revealWeights";
    netuid: number;
    mechanism: number;
    uids: readonly number[];
    values: readonly number[];
    salt: readonly number[]; // u16
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
  readonly publicKey: Uint8Array;
  sign(message: Uint8Array): Uint8Array; // sr25519, 64 bytes
}
