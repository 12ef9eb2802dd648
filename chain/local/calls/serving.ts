/** serve_axon: the address of a neuron. Checks in the runtime's order; older runtimes refuse the address 0 as well. */

import type { ChainCall } from "../../call.ts";
import { type IpAddress, ipOfText, textOfIp } from "../../ip_address.ts";
import type { BlockScope } from "../state/block_scope.ts";
import { uidOf } from "../state/neurons.ts";
import { type AccountKey, keyOf } from "../state/records.ts";
import { addressOf } from "../state/account_key.ts";
import type { CallError } from "./call_error.ts";

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
