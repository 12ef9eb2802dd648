/**
 * The runs that a subnet's chain announces: invites that vouched hotkeys have published. On a public chain, an address
 * that is valid only on one machine or network is rejected: nodes would dial hosts in their own network.
 */

import type { Address, CommitmentField } from "../../chain/call.ts";
import type { Chain, Neuron } from "../../chain/chain.ts";
import { hostOfSocket, type Invite, isInvite, readInvite } from "./invite.ts";
import { type IpAddress, ipOfText } from "../../chain/ip_address.ts";

interface Voucher {
  readonly hotkey: Address;
  readonly by: "owner" | "stake";
  readonly stakeRao: bigint;
}

/** A subnet has at most 64 validators; an owner may register many hotkeys. */
export const vouchersMax = 80;

export function vouchersOf(
  { neurons, ownerHotkey }: { neurons: readonly Neuron[]; ownerHotkey: Address | null },
): Voucher[] {
  const owner = neurons.find(({ hotkey }) => hotkey === ownerHotkey);
  const isOwners = ({ coldkey }: Neuron) => coldkey === owner?.coldkey;
  const rank = (neuron: Neuron) => neuron === owner ? 0 : isOwners(neuron) ? 1 : 2;
  return neurons
    .filter((neuron) => isOwners(neuron) || (neuron.hasPermit && neuron.stakeRao > 0n))
    .sort((a, b) => rank(a) - rank(b) || (a.stakeRao < b.stakeRao ? 1 : a.stakeRao > b.stakeRao ? -1 : a.uid - b.uid))
    .slice(0, vouchersMax)
    .map((neuron) => ({
      hotkey: neuron.hotkey,
      by: isOwners(neuron) ? "owner" : "stake",
      stakeRao: neuron.stakeRao,
    }));
}

export interface Announcement extends Voucher {
  readonly invite: Invite;
  readonly block: number;
}

export interface Announcements {
  readonly block: number;
  readonly runs: readonly Announcement[]; // best vouched first
  readonly unusable: readonly UnusableAnnouncement[];
}

interface UnusableAnnouncement extends Voucher {
  readonly why: string;
}

export async function readAnnouncements(
  chain: Chain,
  { isPublic }: { isPublic: boolean },
): Promise<Announcements> {
  const { ownerHotkey } = await chain.parameters();
  const { neurons, block } = await chain.metagraph();
  const vouchers = new Map(vouchersOf({ neurons, ownerHotkey }).map((voucher) => [voucher.hotkey, voucher]));
  const runs: Announcement[] = [];
  const unusable: UnusableAnnouncement[] = [];
  for (const { hotkey, block, fields } of await chain.commitmentsOf([...vouchers.keys()])) {
    const voucher = vouchers.get(hotkey);
    const text = publishedInvite(fields);
    if (voucher === undefined || text === null) continue;
    const invite = readInvite(text);
    if (invite === null) unusable.push({ ...voucher, why: "it is not an invite that this version can read" });
    else if (voucher.by === "stake" && invite.hub !== hotkey) {
      unusable.push({
        ...voucher,
        why: `stake vouches only for the hotkey's own run, and it names another key: ${invite.hub}`,
      });
    } else if (isPublic && !isPublicHost(hostOfSocket(invite.socket))) {
      unusable.push({ ...voucher, why: `its address is not reachable from elsewhere: ${hostOfSocket(invite.socket)}` });
    } else runs.push({ ...voucher, invite, block });
  }
  return { block, runs: withoutRepeats(runs), unusable };
}

export function publishedInvite(fields: readonly CommitmentField[]): string | null {
  for (const { kind, bytes } of fields) {
    if (kind !== "raw" && kind !== "bigRaw") continue;
    const text = new TextDecoder().decode(bytes);
    if (isInvite(text)) return text;
  }
  return null;
}

function withoutRepeats(runs: readonly Announcement[]): Announcement[] {
  const seen = new Set<string>();
  return runs.filter(({ invite: { socket, run, hub } }) => {
    const key = [socket, run, hub].join(" ");
    return !seen.has(key) && seen.add(key);
  });
}

const ownIpv4: readonly (readonly [first: string, bits: number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10], // carrier-grade NAT
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
  ["224.0.0.0", 3], // multicast, reserved, broadcast
];

const ownIpv6: readonly (readonly [first: string, bits: number])[] = [
  ["::", 127],
  ["fc00::", 7],
  ["fe80::", 10],
  ["ff00::", 8],
];

/** `host`: a name, an IPv4 address, or an IPv6 address without brackets. */
export function isPublicHost(host: string): boolean {
  const ip = ipOfText(host);
  if (ip !== null) return !isOwn(ip);
  return host.includes(".") && !/\.(localhost|local|internal|lan|home\.arpa)$/i.test(host);
}

function isOwn({ version, bits }: IpAddress): boolean {
  if (version === 6 && bits >> 32n === 0xffffn) return isOwn({ version: 4, bits: bits & 0xffff_ffffn }); // ::ffff:a.b.c.d
  const width = version === 4 ? 32 : 128;
  return (version === 4 ? ownIpv4 : ownIpv6).some(([first, count]) => {
    const shift = BigInt(width - count);
    return bits >> shift === ipOfText(first)!.bits >> shift;
  });
}
