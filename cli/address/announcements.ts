/**
 * The runs that a subnet's chain announces: invites that vouched hotkeys have published.
 *
 * Only vouched hotkeys' publications are read (vouching.ts), so no one else can make this longer or slower.
 * Publications for other purposes are skipped. On a public chain, an address that is valid only on one machine or
 * network is rejected: it would make nodes dial hosts in their own network.
 */

import type { CommitmentField } from "../../chain/call.ts";
import type { Chain } from "../../chain/chain.ts";
import { hostOfSocket, type Invite, isInvite, readInvite } from "./invite.ts";
import { isPublicHost } from "./host_scope.ts";
import { type Voucher, vouchersOf } from "./vouching.ts";

export interface Announcement extends Voucher {
  readonly invite: Invite;
  readonly block: number; // of publication
}

export interface Announcements {
  readonly block: number;
  readonly runs: readonly Announcement[]; // best vouched first
  readonly unusable: readonly UnusableAnnouncement[];
}

export interface UnusableAnnouncement extends Voucher {
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

/** The text of the first field that looks like an invite; null: none. */
export function publishedInvite(fields: readonly CommitmentField[]): string | null {
  for (const { kind, bytes } of fields) {
    if (kind !== "raw" && kind !== "bigRaw") continue;
    const text = new TextDecoder().decode(bytes);
    if (isInvite(text)) return text;
  }
  return null;
}

/** If two announce the same, it counts as the better vouched one's. */
function withoutRepeats(runs: readonly Announcement[]): Announcement[] {
  const seen = new Set<string>();
  return runs.filter(({ invite: { socket, run, hub } }) => {
    const key = [socket, run, hub].join(" ");
    return !seen.has(key) && seen.add(key);
  });
}
