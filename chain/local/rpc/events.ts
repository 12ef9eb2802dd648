/**
 * System.Events of a block: the chain's own, the clock's extrinsic, then the others. An extrinsic's own events are
 * between those of its fee; its outcome comes last.
 */

import type { ChainEvent, SubnetEvent } from "../block/events.ts";
import type { CallOutcome } from "../block/ledger.ts";
import type { Runtime } from "../surface/runtime.ts";
import { present, unreachable } from "../../../core/assert.ts";
import type { Address } from "../../call.ts";
import { decodeAddress } from "../../wallet/ss58.ts";
import { storageIndex } from "../../weights/salted_commit.ts";

interface AppliedExtrinsic extends Pick<CallOutcome, "error" | "events"> {
  readonly isFree: boolean;
}

interface BlockEvents {
  readonly bytes: Uint8Array; // Vec<EventRecord>
  readonly count: number;
}

interface Happened {
  readonly byItself: readonly ChainEvent[];
  readonly extrinsics: readonly AppliedExtrinsic[];
}

export function blockEvents({ surface, scale }: Runtime, { byItself, extrinsics }: Happened): BlockEvents {
  const early = byItself.flatMap(runtimeEvents).map((event) => record({ type: "Initialization" }, event));
  const clock = record(applying(0), success({ class: "Mandatory", paysFee: "Yes" }));
  const records = extrinsics.flatMap(({ error, isFree, events }, i) => {
    const info = { class: "Normal", paysFee: isFree ? "No" : "Yes" };
    const end = error === null ? success(info) : failure(dispatchError(surface.pallets, error), info);
    return [...events.flatMap(runtimeEvents), end].map((event) => record(applying(i + 1), event));
  });
  const all = [...early, clock, ...records];
  return { bytes: scale.encode("Vec<EventRecord>", all), count: all.length };
}

const applying = (extrinsic: number): unknown => ({ type: "ApplyExtrinsic", value: extrinsic });
const record = (phase: unknown, event: unknown): unknown => ({ phase, event, topics: [] });
const success = (info: unknown): unknown => ({ type: "System", value: { type: "ExtrinsicSuccess", value: info } });
const failure = (error: unknown, info: unknown): unknown => ({
  type: "System",
  value: { type: "ExtrinsicFailed", value: [error, info] },
});

/** Clients cannot decode an error that no pallet declares: it becomes `Other`. */
function dispatchError(pallets: Runtime["surface"]["pallets"], error: { pallet: string; name: string }): unknown {
  if (error.pallet === "Token") return { type: "Token", value: { type: error.name } };
  const pallet = pallets.find(({ name }) => name === error.pallet);
  const index = pallet?.errors.indexOf(error.name) ?? -1;
  if (pallet === undefined || index < 0) return { type: "Other" };
  return { type: "Module", value: { index: pallet.index, error: Uint8Array.of(index, 0, 0, 0) } };
}

interface RuntimeEvent {
  readonly type: string;
  readonly value: { readonly type: string; readonly value: unknown };
}

/** The codec takes one field as a value, several as a list. */
function runtimeEvents(event: ChainEvent): readonly RuntimeEvent[] {
  switch (event.type) {
    case "accountCreated": {
      const account = accountId(event.account);
      return [of("System", "NewAccount", account), of("Balances", "Endowed", [account, event.amountRao])];
    }
    case "transferred":
      return [of("Balances", "Transfer", [accountId(event.from), accountId(event.to), event.amountRao])];
    case "withdrawn":
      return [of("Balances", "Withdraw", [accountId(event.account), event.amountRao])];
    case "deposited":
      return [of("Balances", "Deposit", [accountId(event.account), event.amountRao])];
    case "feePaid":
      return [of("TransactionPayment", "TransactionFeePaid", [accountId(event.account), event.amountRao, 0n])];
    case "encryptedSubmitted":
      return [of("MevShield", "EncryptedSubmitted", [Uint8Array.fromHex(event.id), accountId(event.account)])];
    case "commitmentSet":
      return [of("Commitments", "Commitment", [event.netuid, accountId(event.hotkey)])];
    case "neuronPruned":
    case "weightsDropped":
    case "epochRan":
      return [];
    default:
      return [of("SubtensorModule", ...subnetEvent(event))];
  }
}

const dynamicMechanism = 1;

function subnetEvent(event: SubnetEvent): [name: string, value: unknown] {
  switch (event.type) {
    case "neuronRegistered":
      return ["NeuronRegistered", [event.netuid, event.uid, accountId(event.hotkey)]];
    case "networkAdded":
      return ["NetworkAdded", [event.netuid, dynamicMechanism]];
    case "stakeAdded":
    case "stakeRemoved": {
      const { type, coldkey, hotkey, amountRao, netuid } = event;
      const name = type === "stakeAdded" ? "StakeAdded" : "StakeRemoved";
      return [name, [accountId(coldkey), accountId(hotkey), amountRao, amountRao, netuid, 0n]]; // tao, alpha; no fee
    }
    case "axonServed":
      return ["AxonServed", [event.netuid, accountId(event.hotkey)]];
    case "weightsSet":
      return ["WeightsSet", [storageIndex(event), event.uid]];
    case "weightsCommitted":
      return ["WeightsCommitted", [accountId(event.hotkey), storageIndex(event), Uint8Array.fromHex(event.hash)]];
    case "saltedRevealed":
      return ["WeightsRevealed", [accountId(event.hotkey), storageIndex(event), Uint8Array.fromHex(event.hash)]];
    case "timelockedCommitted": {
      const { hotkey, hash, revealRound } = event;
      const fields = [accountId(hotkey), storageIndex(event), Uint8Array.fromHex(hash), revealRound];
      return ["TimelockedWeightsCommitted", fields];
    }
    case "weightsRevealed":
      return ["TimelockedWeightsRevealed", [storageIndex(event), accountId(event.hotkey)]];
    default:
      return unreachable(event);
  }
}

const of = (pallet: string, name: string, value: unknown): RuntimeEvent => ({
  type: pallet,
  value: { type: name, value },
});

const accountId = (address: Address): Uint8Array =>
  present(
    decodeAddress(address),
    `Cannot show an event as its account must be an address: current value is ${address}`,
  );
