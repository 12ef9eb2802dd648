/** Translates decoded runtime calls into the ledger's calls. */

import type { Address, ChainCall, CommitmentField, CommitmentKind } from "../../call.ts";
import { alphaPriceRao } from "../reads/subnet_answers.ts";
import { encodeAddress } from "../../wallet/ss58.ts";
import { textOfIp } from "../../ip_address.ts";
import { commitBytesMax } from "../calls/commit_reveal.ts";
import { bigRawBytesMax, fieldsMax } from "../surface/commitments_pallet.ts";
import type { RuntimeCall } from "./extrinsic.ts";
import { customInvalid, invalidTransaction, undecodable } from "./rpc_error.ts";

type Args = RuntimeCall["args"];

const invalidIpAddress = 11;
const slippageTooHigh = 8;

/** Throws an `RpcError` like a pool, before it reads any state. */
export function chainCallOf({ pallet, name, args }: RuntimeCall): ChainCall {
  const translate = translations[`${pallet}.${name}`];
  if (translate === undefined) throw invalidTransaction("call");
  return translate(args);
}

const translations: Readonly<Record<string, (args: Args) => ChainCall>> = {
  "Balances.transfer_allow_death": transfer,
  "Balances.transfer_keep_alive": transfer,
  "SubtensorModule.set_weights": (args) => ({ type: "setWeights", mechanism: 0, ...targets(args) }),
  "SubtensorModule.set_mechanism_weights": (args) => ({
    type: "setWeights",
    mechanism: mechanism(args),
    ...targets(args),
  }),
  "SubtensorModule.commit_weights": (args) => ({ type: "commitWeights", mechanism: 0, ...hashed(args) }),
  "SubtensorModule.commit_mechanism_weights": (args) => ({
    type: "commitWeights",
    mechanism: mechanism(args),
    ...hashed(args),
  }),
  "SubtensorModule.reveal_weights": (args) => ({ type: "revealWeights", mechanism: 0, ...revealed(args) }),
  "SubtensorModule.reveal_mechanism_weights": (args) => ({
    type: "revealWeights",
    mechanism: mechanism(args),
    ...revealed(args),
  }),
  "SubtensorModule.commit_timelocked_weights": (args) => ({
    type: "commitTimelockedWeights",
    mechanism: 0,
    ...sealed(args),
  }),
  "SubtensorModule.commit_timelocked_mechanism_weights": (args) => ({
    type: "commitTimelockedWeights",
    mechanism: mechanism(args),
    ...sealed(args),
  }),
  "SubtensorModule.add_stake": addStake,
  "SubtensorModule.add_stake_limit": (args) => {
    if (args.limit_price as bigint < alphaPriceRao) throw customInvalid(slippageTooHigh);
    return addStake(args);
  },
  "SubtensorModule.remove_stake": removeStake,
  "SubtensorModule.remove_stake_limit": (args) => {
    if (args.limit_price as bigint > alphaPriceRao) throw customInvalid(slippageTooHigh);
    return removeStake(args);
  },
  "SubtensorModule.serve_axon": serveAxon,
  "Commitments.set_commitment": setCommitment,
  "SubtensorModule.burned_register": burnedRegister,
  "SubtensorModule.register_limit": (args) => ({ ...burnedRegister(args), limitRao: args.limit_price as bigint }),
  "SubtensorModule.register_network": (args) => ({ type: "registerNetwork", hotkey: hotkey(args) }),
};

function transfer(args: Args): ChainCall {
  const to = args.dest as { type: string; value: Uint8Array };
  if (to.type !== "Id") throw invalidTransaction("call");
  return { type: "transfer", to: encodeAddress(to.value), amountRao: args.value as bigint };
}

function burnedRegister(args: Args): Extract<ChainCall, { type: "burnedRegister" }> {
  return { type: "burnedRegister", netuid: netuid(args), hotkey: hotkey(args) };
}

function addStake(args: Args): ChainCall {
  const amountRao = args.amount_staked as bigint;
  return { type: "addStake", hotkey: hotkey(args), netuid: netuid(args), amountRao };
}

function removeStake(args: Args): ChainCall {
  const amountAlpha = args.amount_unstaked as bigint;
  return { type: "removeStake", hotkey: hotkey(args), netuid: netuid(args), amountAlpha };
}

function serveAxon(args: Args): ChainCall {
  const version = args.ip_type as number;
  const bits = args.ip as bigint;
  if (version !== 6 && (version !== 4 || bits >> 32n !== 0n)) throw customInvalid(invalidIpAddress);
  const axon = {
    ip: textOfIp({ version, bits }),
    port: args.port as number,
    protocol: args.protocol as number,
    version: args.version as number,
  };
  return { type: "serveAxon", netuid: netuid(args), axon };
}

/** Without timelocked fields and the flag that resets bonds. */
function setCommitment(args: Args): ChainCall {
  const { fields } = args.info as { fields: readonly { type: string; value: unknown }[] };
  if (fields.length > fieldsMax) {
    throw undecodable(`a commitment must have at most ${fieldsMax} fields: current value is ${fields.length}`);
  }
  return { type: "setCommitment", netuid: netuid(args), fields: fields.map(commitmentField) };
}

function commitmentField({ type, value }: { type: string; value: unknown }): CommitmentField {
  const kind = /^Raw\d+$/.test(type) ? "raw" : commitmentKinds[type];
  if (kind === undefined) throw invalidTransaction("call");
  const bytes = value instanceof Uint8Array ? value : new Uint8Array(0);
  if (bytes.length > bigRawBytesMax) {
    throw undecodable(`a field must have at most ${bigRawBytesMax} bytes: current value is ${bytes.length}`);
  }
  return { kind, bytes };
}

const commitmentKinds: Readonly<Record<string, CommitmentKind>> = {
  None: "none",
  BigRaw: "bigRaw",
  BlakeTwo256: "blakeTwo256",
  Sha256: "sha256",
  Keccak256: "keccak256",
  ShaThree256: "shaThree256",
};

const netuid = (args: Args): number => args.netuid as number;
const mechanism = (args: Args): number => args.mecid as number;
const hotkey = (args: Args): Address => encodeAddress(args.hotkey as Uint8Array);

const targets = (args: Args) => ({
  netuid: netuid(args),
  uids: args.dests as number[],
  values: args.weights as number[],
  versionKey: args.version_key as bigint,
});

const hashed = (args: Args) => ({ netuid: netuid(args), hash: args.commit_hash as Uint8Array });

const revealed = (args: Args) => ({
  netuid: netuid(args),
  uids: args.uids as number[],
  values: args.values as number[],
  salt: args.salt as number[],
  versionKey: args.version_key as bigint,
});

/** The runtime's type is bounded. */
function sealed(args: Args) {
  const commit = args.commit as Uint8Array;
  if (commit.length > commitBytesMax) {
    throw undecodable(`a commit must have at most ${commitBytesMax} bytes: current value is ${commit.length}`);
  }
  return {
    netuid: netuid(args),
    commit,
    revealRound: args.reveal_round as bigint,
    commitRevealVersion: args.commit_reveal_version as number,
  };
}
