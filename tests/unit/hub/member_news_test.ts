/** What an orchestrator's owner and its members are told beside the run's own messages. */

import { assertEquals, assertMatch } from "@std/assert";
import { MemberNews } from "../../../cli/orchestrator/hub/members/member_news.ts";
import { type NodeId, nodeId } from "../../../core/ids.ts";

const node = (number: number) => nodeId(`5Node${number}`);

function world() {
  const members = new Set<NodeId>();
  const warned: string[] = [];
  const told: NodeId[] = [];
  const news = new MemberNews({
    nowMs: () => Date.UTC(2026, 10, 27),
    isMember: (each) => members.has(each),
    send: (each) => told.push(each),
    warn: (text) => warned.push(text),
  });
  return {
    ...{ news, warned, told },
    hello: (peer: NodeId, aheadMs: number) => {
      const clock = { aheadMs, errorMs: 0 };
      news.onHubEvent({ type: "peerConnected", peer, role: "miner", resumed: false, clock });
    },
    gone: (peer: NodeId) =>
      news.onHubEvent({ type: "peerLost", peer, fault: { code: "notAdmitted", detail: "it closed its link" } }),
    join: (each: NodeId) => {
      members.add(each);
      news.onRecord({ type: "nodeJoined", node: each, role: "miner", adapter: "none" });
    },
  };
}

const hourMs = 3_600_000;

Deno.test("Member news: strangers that say hello with any clock, and never join, cost the owner no line", () => {
  const { warned, hello, gone } = world();
  for (let hour = 1; hour <= 300; hour++) {
    for (const stranger of [1, 2, 3]) {
      hello(node(stranger), hour * hourMs);
      gone(node(stranger));
    }
  }
  for (const stranger of [4, 5, 6]) hello(node(stranger), hourMs);
  assertEquals(warned, []);
});

Deno.test("Member news: a member's clock is named when it has joined, once", () => {
  const { warned, hello, join } = world();
  hello(node(1), hourMs);
  assertEquals(warned, []);
  join(node(1));
  assertEquals(warned.length, 1);
  assertMatch(warned[0] ?? "", /^The clock of 5Node1 says .* a difference of 1 h/);
  for (let hour = 2; hour < 50; hour++) hello(node(1), hour * hourMs);
  assertEquals(warned.length, 1);
});

Deno.test("Member news: members that agree with each other name the orchestrator's own clock, strangers beside them or not", () => {
  const { warned, hello, join } = world();
  for (const stranger of [4, 5, 6, 7, 8, 9]) hello(node(stranger), 0);
  for (const member of [1, 2, 3]) {
    hello(node(member), hourMs);
    join(node(member));
  }
  assertMatch(warned[2] ?? "", /^The clock of this machine is probably wrong: .* of 3 of 3 nodes /);
});

Deno.test("Member news: two processes of one hotkey are the owner's business when it is a member's; the process is told always", () => {
  const { news, warned, told, hello, join } = world();
  for (const each of [1, 2]) hello(node(each), 0);
  join(node(2));
  for (const each of [1, 2]) news.onHubEvent({ type: "rivalRefused", peer: node(each), from: "192.0.2.1" });
  assertEquals(warned.map((text) => /5Node\d/.exec(text)?.[0]), ["5Node2"]);
  assertEquals(told, [node(1), node(2)]);
});
