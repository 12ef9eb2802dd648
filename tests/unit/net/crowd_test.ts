/** Which stranger makes room, and the origin of an address. */

import { assert, assertEquals } from "@std/assert";
import { Crowd, originOf } from "../../../net/links/crowd.ts";

const fill = (crowd: Crowd<string>, origin: string, count: number, nowMs = 0) => {
  for (let index = 0; index < count; index++) {
    assert(crowd.add(`${origin}${index}`, { origin, nowMs }).type === "admitted");
  }
};

Deno.test("Crowd: the oldest of the fullest origin makes room for another origin, at once", () => {
  const crowd = new Crowd<string>({ most: 10, shortestMs: 1000 });
  fill(crowd, "b", 3);
  fill(crowd, "a", 7);
  assertEquals(crowd.add("new", { origin: "c", nowMs: 0 }), { type: "admitted", dropped: "a0" });
  assertEquals(crowd.size, 10);
  assertEquals(crowd.has("a0"), false);
});

Deno.test("Crowd: one's own origin must wait until its oldest has had 'shortestMs'", () => {
  const crowd = new Crowd<string>({ most: 4, shortestMs: 1000 });
  fill(crowd, "a", 4);
  assertEquals(crowd.add("early", { origin: "a", nowMs: 999 }), { type: "refused" });
  assertEquals(crowd.add("late", { origin: "a", nowMs: 1000 }), { type: "admitted", dropped: "a0" });
  assertEquals(crowd.add("next", { origin: "a", nowMs: 1001 }), { type: "admitted", dropped: "a1" });
});

Deno.test("Crowd: origins with one member each take turns by age", () => {
  const crowd = new Crowd<string>({ most: 3, shortestMs: 1000 });
  for (const [nowMs, name] of ["x", "y", "z"].entries()) crowd.add(name, { origin: name, nowMs });
  assertEquals(crowd.add("w", { origin: "w", nowMs: 500 }), { type: "refused" });
  assertEquals(crowd.add("w", { origin: "w", nowMs: 1000 }), { type: "admitted", dropped: "x" });
});

Deno.test("Crowd: a member that leaves frees a place, and lowering the limit drops no member", () => {
  const crowd = new Crowd<string>({ most: 4, shortestMs: 1000 });
  fill(crowd, "a", 4);
  crowd.remove("a1");
  crowd.remove("a1");
  assertEquals(crowd.add("b", { origin: "b", nowMs: 0 }), { type: "admitted", dropped: null });
  crowd.most = 2;
  assertEquals([...crowd].length, 4);
  assertEquals(crowd.take(3), ["a0", "a2", "a3"]);
  crowd.most = 100;
  assertEquals(crowd.most, 4);
});

Deno.test("Crowd: the origin of an IPv4 address is itself, that of an IPv6 one its network", () => {
  for (
    const [address, origin] of [
      ["203.0.113.7", "203.0.113.7"],
      ["::ffff:203.0.113.7", "203.0.113.7"],
      ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
      ["2001:DB8:1:2::9", "2001:db8:1:2::/64"],
      ["2001:db8::1", "2001:db8:0:0::/64"],
      ["fe80::1%eth0", "fe80:0:0:0::/64"],
      ["::1", "0:0:0:0::/64"],
      [undefined, "unknown"],
    ] as const
  ) assertEquals(originOf(address), origin, String(address));
});
