/** `set_commitment`, limited in bytes per epoch, and `serve_axon`. Checks are in the runtime's order. */

import type { ChainCall } from "../../call.ts";
import type { BlockScope } from "../state/state.ts";
import { epochIndexIn } from "../epoch/schedule.ts";
import { uidOf } from "../state/neurons.ts";
import { type AccountKey, addressOf, keyOf } from "../state/records.ts";
import { fieldsMax, spaceBytesMax } from "../surface/commitments_pallet.ts";
import type { CallError } from "./call_error.ts";
import { type IpAddress, ipOfText, textOfIp } from "../../ip_address.ts";

const leastBytes = 100; // minimum charge

export function setCommitment(
  scope: BlockScope,
  hotkey: AccountKey,
  { netuid, fields }: Extract<ChainCall, { type: "setCommitment" }>,
): CallError | null {
  const { state, block } = scope;
  if (uidOf(state, netuid, hotkey) === null) return "AccountNotAllowedCommit";
  if (fields.length > fieldsMax) return "TooManyFieldsInCommitmentInfo";
  const key = keyOf(netuid, hotkey);
  const epoch = epochIndexIn(scope, netuid);
  const space = state.read("commitmentSpace", key);
  const neededBytes = Math.max(leastBytes, fields.reduce((sum, { bytes }) => sum + bytes.length, 0));
  const usedBytes = neededBytes + (space?.epoch === epoch ? space.usedBytes : 0);
  if (usedBytes > spaceBytesMax) return "SpaceLimitExceeded";
  state.write("commitmentSpace", key, { epoch, usedBytes });
  state.write("commitment", key, { block, fields: fields.map(({ kind, bytes }) => ({ kind, hex: bytes.toHex() })) });
  scope.emit({ type: "commitmentSet", netuid, hotkey: addressOf(hotkey) });
  return null;
}

/** Older runtimes also refuse the address 0. */
const ipv4Loopback = 0x7f000001n;
const ipv4Broadcast = 0xffffffffn;
const ipv6Max = (1n << 128n) - 1n;

export function serveAxon(
  { state, genesis, block, emit }: BlockScope,
  hotkey: AccountKey,
  call: Extract<ChainCall, { type: "serveAxon" }>,
): CallError | null {
  const { netuid, axon } = call;
  const subnet = state.read("subnet", keyOf(netuid));
  if (subnet === undefined) return "SubnetNotExists";
  const uid = uidOf(state, netuid, hotkey);
  if (uid === null) return "HotKeyNotRegisteredInNetwork";
  const ip = ipOfText(axon.ip);
  if (ip === null) return "InvalidIpType";
  if (!isServable(ip) || (ip.bits === 0n && genesis.preChecks === "pool")) return "InvalidIpAddress";
  const before = state.get("neuron", keyOf(netuid, uid)).axon;
  const { servingRateLimitBlocks } = subnet.hyperparameters;
  if (before !== null && block - before.block < servingRateLimitBlocks) return "ServingRateLimitExceeded";
  if (axon.port === 0) return "InvalidPort";
  const { port, protocol, version } = axon;
  state.change("neuron", keyOf(netuid, uid), { axon: { block, version, ip: textOfIp(ip), port, protocol } });
  emit({ type: "axonServed", netuid, hotkey: addressOf(hotkey) });
  return null;
}

function isServable(ip: IpAddress): boolean {
  if (ip.version === 4) return ip.bits !== ipv4Loopback && ip.bits !== ipv4Broadcast;
  return ip.bits !== 1n && ip.bits !== ipv6Max;
}
