/**
 * The pallets under the subnet pallet: blocks and accounts, the clock, balances, fees, the drand beacon, encrypted
 * extrinsics.
 */

import { blake2, call, type Pallet, stored, twox } from "./description.ts";

interface SystemNumbers {
  readonly blockMs: number;
  readonly version: unknown; // a RuntimeVersion
}

export function systemPallets(numbers: SystemNumbers): readonly Pallet[] {
  return [system(numbers), timestamp(numbers), aura(numbers), balances, transactionPayment];
}

/** The flags' highest bit marks the current layout. */
const newAccount = `0x${"00".repeat(55)}80` as const;

function system({ version }: SystemNumbers): Pallet {
  return {
    name: "System",
    index: 0,
    crate: "frame_system",
    calls: [],
    storage: [
      stored("Account", [blake2("AccountId")], "AccountInfo", newAccount),
      stored("ExtrinsicCount", [], "u32", "none"),
      stored("BlockHash", [twox("u32")], "H256"),
      stored("Number", [], "u32"),
      stored("ParentHash", [], "H256"),
      stored("Digest", [], "Digest"),
      stored("Events", [], "Vec<EventRecord>"),
      stored("EventCount", [], "u32"),
      stored("LastRuntimeUpgrade", [], "LastRuntimeUpgradeInfo", "none"),
    ],
    events: {
      ExtrinsicSuccess: { index: 0, fields: [{ name: "dispatch_info", type: "DispatchEventInfo" }] },
      ExtrinsicFailed: {
        index: 1,
        fields: [{ name: "dispatch_error", type: "DispatchError" }, {
          name: "dispatch_info",
          type: "DispatchEventInfo",
        }],
      },
      NewAccount: { index: 3, fields: [{ name: "account", type: "AccountId" }] },
    },
    errors: [
      "InvalidSpecName",
      "SpecVersionNeedsToIncrease",
      "FailedToExtractRuntimeVersion",
      "NonDefaultComposite",
      "NonZeroRefCount",
      "CallFiltered",
    ],
    constants: [
      { name: "BlockHashCount", type: "u32", value: 2400 },
      { name: "DbWeight", type: "DbWeight", value: { read: 25_000_000n, write: 100_000_000n } },
      { name: "Version", type: "RuntimeVersion", value: version },
      { name: "SS58Prefix", type: "u16", value: 42 },
    ],
  };
}

function timestamp({ blockMs }: SystemNumbers): Pallet {
  return {
    name: "Timestamp",
    index: 2,
    crate: "pallet_timestamp",
    calls: [call(0, "set", "now: Compact<u64>")],
    storage: [stored("Now", [], "u64"), stored("DidUpdate", [], "bool")],
    events: {},
    errors: [],
    // clients take twice this as the block time
    constants: [{ name: "MinimumPeriod", type: "u64", value: BigInt(Math.ceil(blockMs / 2)) }],
  };
}

function aura({ blockMs }: SystemNumbers): Pallet {
  return {
    name: "Aura",
    index: 3,
    crate: "pallet_aura",
    calls: [],
    storage: [stored("CurrentSlot", [], "u64")],
    events: {},
    errors: [],
    constants: [{ name: "SlotDuration", type: "u64", value: BigInt(blockMs) }],
  };
}

const balances: Pallet = {
  name: "Balances",
  index: 5,
  crate: "pallet_balances",
  calls: [
    call(0, "transfer_allow_death", "dest: MultiAddress, value: Compact<u64>"),
    call(3, "transfer_keep_alive", "dest: MultiAddress, value: Compact<u64>"),
  ],
  storage: [stored("TotalIssuance", [], "u64"), stored("InactiveIssuance", [], "u64")],
  events: {
    Endowed: { index: 0, fields: [{ name: "account", type: "AccountId" }, { name: "free_balance", type: "u64" }] },
    Transfer: {
      index: 2,
      fields: [{ name: "from", type: "AccountId" }, { name: "to", type: "AccountId" }, { name: "amount", type: "u64" }],
    },
    Deposit: { index: 7, fields: [{ name: "who", type: "AccountId" }, { name: "amount", type: "u64" }] },
    Withdraw: { index: 8, fields: [{ name: "who", type: "AccountId" }, { name: "amount", type: "u64" }] },
    Issued: { index: 15, fields: [{ name: "amount", type: "u64" }] },
  },
  errors: [
    "VestingBalance",
    "LiquidityRestrictions",
    "InsufficientBalance",
    "ExistentialDeposit",
    "Expendability",
    "ExistingVestingSchedule",
    "DeadAccount",
    "TooManyReserves",
    "TooManyHolds",
    "TooManyFreezes",
    "IssuanceDeactivated",
    "DeltaZero",
  ],
  constants: [{ name: "ExistentialDeposit", type: "u64", value: 500n }],
};

const transactionPayment: Pallet = {
  name: "TransactionPayment",
  index: 6,
  crate: "pallet_transaction_payment",
  calls: [],
  storage: [stored("NextFeeMultiplier", [], "u128", "0x000064a7b3b6e00d0000000000000000")],
  events: {
    TransactionFeePaid: {
      index: 0,
      fields: [{ name: "who", type: "AccountId" }, { name: "actual_fee", type: "u64" }, { name: "tip", type: "u64" }],
    },
  },
  errors: [],
  constants: [{ name: "OperationalFeeMultiplier", type: "u8", value: 5 }],
};

/** Quicknet's key, period, genesis, hashes and names. */
const quicknet = `0x${
  [
    "810183cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d10",
    "64510d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ec",
    "e45a030000002721e6648052db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e97180f477d5c8",
    "9f21a17c863a7f937c6a6d15859414d2be09cd448d4279af331c5d3e60626c732d756e636861696e65642d67312d7266",
    "633933383020717569636b6e6574",
  ].join("")
}` as const;

export const drand: Pallet = {
  name: "Drand",
  index: 26,
  crate: "pallet_drand",
  calls: [],
  storage: [
    stored("BeaconConfig", [], "BeaconConfiguration", quicknet),
    stored("Pulses", [blake2("u64")], "Pulse", "none"),
    stored("LastStoredRound", [], "u64"),
    stored("OldestStoredRound", [], "u64"),
  ],
  events: {},
  errors: ["NoneValue", "StorageOverflow", "DrandConnectionFailure", "UnverifiedPulse", "InvalidRoundNumber"],
  constants: [],
};

/** MEV Shield, used by Bittensor's SDK 11. */
const key = "Vec<u8>"; // ML-KEM-768, 1184 bytes

export const mevShield: Pallet = {
  name: "MevShield",
  index: 30,
  crate: "pallet_shield",
  calls: [call(1, "submit_encrypted", "ciphertext: Vec<u8>")],
  storage: [
    stored("CurrentKey", [], key, "none"),
    stored("PendingKey", [], key, "none"), // the next block's author
    stored("NextKey", [], key, "none"), // the author after that: encrypt with it
    stored("PendingKeyExpiresAt", [], "u32", "none"),
    stored("NextKeyExpiresAt", [], "u32", "none"),
  ],
  events: {
    EncryptedSubmitted: { index: 0, fields: [{ name: "id", type: "H256" }, { name: "who", type: "AccountId" }] },
  },
  errors: ["BadEncKeyLen", "Unreachable"],
  constants: [],
};
