/** What vouched hotkeys may publish: anything, and reading it gives runs or says why not. */

import { assert, assertEquals } from "@std/assert";
import type { CommitmentField, CommitmentKind } from "../../../chain/call.ts";
import type { Chain } from "../../../chain/chain.ts";
import { publishedInvite, readAnnouncements } from "../../../cli/address/announcements.ts";
import { inviteText } from "../../../cli/address/invite.ts";
import { netuid, ownerHotkey } from "../../conformance/chain_world.ts";
import { inviteOf, withFindingWorld } from "../../support/chain/finding_world.ts";
import { prngOf } from "../../support/small_prng.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const field = (kind: CommitmentKind, bytes: Uint8Array): CommitmentField => ({ kind, bytes });

Deno.test("Announcements: the first text that means to be an invite counts, among whatever else is published", () => {
  const invite = bytesOf(inviteOf("run"));
  const other = field("raw", bytesOf("ipfs://Qm"));
  const check = (fields: readonly CommitmentField[], text: string | null) =>
    assertEquals(publishedInvite(fields), text);
  check([], null);
  check([other, field("sha256", new Uint8Array(32)), field("none", new Uint8Array(0))], null);
  check([other, field("raw", invite)], inviteOf("run"));
  check([field("bigRaw", invite), field("raw", bytesOf(inviteOf("second")))], inviteOf("run"));
  check([field("sha256", invite)], null);
  check([field("raw", Uint8Array.of(0xff, 0xfe))], null);
});

Deno.test("Announcements: random bytes of the owner never throw, and a parsed invite can be written again", async () => {
  await withFindingWorld({}, async (world) => {
    const below = prngOf(11);
    let published: readonly CommitmentField[] = [];
    const chain = new Proxy(world.chain, {
      get: (target, name) => {
        if (name === "commitmentsOf") {
          return () => Promise.resolve([{ hotkey: ownerHotkey.address, block: 1, fields: published }]);
        }
        const value = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    }) as Chain;
    let found = 0, unusable = 0;
    for (let i = 0; i < 2_000; i++) {
      const whole = bytesOf(inviteOf("run", ["ws://203.0.113.7:9009", "wss://run.example"][below(2)]!));
      for (let damage = below(3); damage > 0; damage--) whole[below(whole.length)] = below(256);
      const noise = Uint8Array.from({ length: below(512) }, () => below(256));
      published = [field("bigRaw", below(4) === 0 ? noise : whole)];
      const { runs, unusable: passedOver } = await readAnnouncements(chain, { isPublic: true });
      for (const { invite, by } of runs) assertEquals([typeof inviteText(invite), by], ["string", "owner"]);
      for (const { why } of passedOver) assert(/^[\x20-\x7e]*$/.test(why), why);
      found += runs.length;
      unusable += passedOver.length;
    }
    assert(found > 300 && unusable > 300, `${found} runs, ${unusable} passed over`);
    assertEquals(world.chain.netuid, netuid);
  });
});
