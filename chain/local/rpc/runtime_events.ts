/**
 * Converts the embedded chain's events to the runtime's: pallet, name and fields in the runtime's order.
 *
 * An event that the runtime lacks is dropped, and a new account becomes two events.
 */

import { present, unreachable } from "../../../core/assert.ts";
import type { Address } from "../../call.ts";
import { decodeAddress } from "../../wallet/ss58.ts";
import { storageIndex } from "../../weights/salted_commit.ts";
import type { ChainEvent, SubnetEvent } from "../block/events.ts";

/** A value of the surface's type RuntimeEvent. */
export interface RuntimeEvent {
  readonly type: string; // pallet
  readonly value: { readonly type: string; readonly value: unknown };
}

/** The codec takes a variant's single field as a value, several fields as a list. */
export function runtimeEvents(event: ChainEvent): readonly RuntimeEvent[] {
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
      return [of("TransactionPayment", "TransactionFeePaid", [accountId(event.account), event.amountRao, 0n])]; // no tip
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
