/** The chain's state: calls that leave nothing behind, roots, the past; and addresses as numbers. */

import { assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { ipOfText, textOfIp } from "../../../../chain/ip_address.ts";
import { recordOfText, textOfRecord } from "../../../../chain/local/state/records.ts";
import { State } from "../../../../chain/local/state/state.ts";

function commit(state: State, ...stakes: readonly (readonly [key: string, rao: bigint])[]): void {
  for (const [key, rao] of stakes) state.write("stake", key, rao);
  state.commit(state.prepare().changes);
}

Deno.test("State: a failed call leaves nothing behind, a good one all it wrote", () => {
  const state = new State();
  commit(state, ["9/a", 1n]);
  const failed = state.attempt(() => {
    state.write("stake", "9/a", 5n);
    state.remove("stake", "9/a");
    state.write("stake", "9/b", 7n);
    assertEquals([state.read("stake", "9/a"), state.keys("stake", "9/")], [undefined, ["9/b"]]);
    return "TooLate";
  });
  assertEquals([failed, state.read("stake", "9/a"), state.keys("stake")], ["TooLate", 1n, ["9/a"]]);
  assertEquals(state.attempt(() => (state.remove("stake", "9/a"), null)), null);
  assertEquals([state.read("stake", "9/a"), state.keys("stake")], [undefined, []]);
  state.discard();
  assertEquals(state.read("stake", "9/a"), 1n);
});

Deno.test("State: the root depends on the content and not on its history", () => {
  const left = new State(), right = new State();
  commit(left, ["a", 1n], ["b", 2n]);
  commit(right, ["b", 3n]);
  commit(right, ["c", 9n], ["a", 1n]);
  assertNotEquals(left.root, right.root);
  right.remove("stake", "c");
  commit(right, ["b", 2n]);
  assertEquals(left.root, right.root);
  assertEquals(new State().root, new Uint8Array(32));
});

Deno.test("State: past states are unchanged, including keys", () => {
  const state = new State();
  commit(state, ["a", 1n]);
  commit(state, ["a", 2n], ["b", 1n]);
  state.remove("stake", "a");
  commit(state, ["c", 1n]);
  const seen = (blocksAgo: number) => {
    const past = state.past(blocksAgo);
    return past?.keys("stake").sort().map((key) => `${key}${past.get("stake", key)}`).join(" ");
  };
  assertEquals([0, 1, 2, 3, 4].map(seen), ["b1 c1", "a2 b1", "a1", "", undefined]);
});

Deno.test("Records: text and back, bigints of any size and sign", () => {
  const record = { rao: 2n ** 70n, debt: -5n, list: [[1, 2n]], name: "n5", none: null };
  assertEquals(recordOfText(textOfRecord(record)), record);
  assertThrows(() => textOfRecord({ name: "5n" }), Error, "looks like a bigint");
  assertEquals(textOfRecord({ rao: 5n }), '{"rao":"5n"}');
});

Deno.test("IP addresses: text to number and back in the canonical spelling", () => {
  const cases: [text: string, canonical: string, bits: bigint][] = [
    ["203.0.113.7", "203.0.113.7", 0xcb007107n],
    ["0.0.0.0", "0.0.0.0", 0n],
    ["2001:DB8:0:0:0:0:0:7", "2001:db8::7", 0x20010db8000000000000000000000007n],
    ["::", "::", 0n],
    ["1::", "1::", 1n << 112n],
    ["::ffff:1.2.3.4", "::ffff:102:304", 0xffff01020304n],
    ["1:0:0:2:0:0:0:3", "1:0:0:2::3", 0x00010000000000020000000000000003n],
    ["1:2:3:4:5:6:7:0", "1:2:3:4:5:6:7:0", 0x00010002000300040005000600070000n],
  ];
  for (const [text, canonical, bits] of cases) {
    const ip = ipOfText(text);
    assertEquals([ip?.bits, ip && textOfIp(ip)], [bits, canonical], text);
  }
  const notOnes = [
    "",
    "1.2.3",
    "1.2.3.04",
    "1.2.3.256",
    "1.2.3.4.5",
    "host",
    ":::",
    "1::2::3",
    "1:2:3:4:5:6:7",
    "12345::",
  ];
  for (const text of [...notOnes, "::g"]) {
    assertEquals(ipOfText(text), null, text);
  }
});
