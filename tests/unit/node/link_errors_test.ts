/** What a person reads when a node's link fails. */

import { assertEquals, assertMatch } from "@std/assert";
import {
  type NodeWallet,
  refusedError,
  rivalCure,
  sessionLostText,
  withWallet,
} from "../../../cli/node/link_errors.ts";
import { fault } from "../../../core/fault.ts";
import { rivalText } from "../../../net/links/hub.ts";
import { answerChallenge, challengerOf, createChallenge } from "../../../net/auth/hello.ts";
import { countingRandom } from "../../support/net/manual_timers.ts";
import { testSigner } from "../../support/net/test_keys.ts";

const [wanted, other] = [testSigner(1).address, testSigner(2).address];
const url = "ws://10.0.0.5:9009";
const wallet: NodeWallet = {
  address: testSigner(3).address,
  wallet: "hot",
  hotkey: null,
  walletPath: null,
  network: null,
};

function refusal(rememberedIn: string | null) {
  const random = countingRandom(1);
  const challenge = createChallenge("two", other, random);
  const identity = { signer: testSigner(3), role: "validator", hub: wanted, run: "one" } as const;
  const answer = answerChallenge(challenge, { identity, resume: null, ticket: null, random, nowMs: 0 });
  if (answer.ok) throw new Error("the challenge is another orchestrator's");
  const found = challengerOf(challenge);
  return refusedError({ url, role: "validator", fault: answer.fault, found, rememberedIn, isOtherRun: false, wallet });
}

Deno.test("Link errors: another orchestrator than the remembered one is refused with the reason and one command", () => {
  const { message, next } = refusal("/data/hubs/a.json");
  assertMatch(message, /another orchestrator was met .* before \(remembered in \/data\/hubs\/a\.json\)/);
  assertEquals(message.includes("--hub"), false, "one next step");
  assertEquals(
    next?.endsWith(`: iota validate --orchestrator 'iota://10.0.0.5:9009/two#${other}' --wallet hot`),
    true,
    next,
  );
});

Deno.test("Link errors: a typed orchestrator is not a remembered one", () => {
  const { message, next } = refusal(null);
  assertMatch(message, new RegExp(`address is ${other}, not the expected ${wanted}$`));
  assertMatch(next ?? "", /the invite that it prints/);
});

Deno.test("Link errors: a run that was named and is not served leads to the one that is, with this node's wallet", () => {
  const found = { hub: other, run: "two" };
  const detail = "This orchestrator serves run 'two', not 'one'";
  const { message, next } = refusedError({
    ...{ url, role: "miner", fault: fault("unauthenticated", detail), found, rememberedIn: null, isOtherRun: true },
    wallet: { ...wallet, hotkey: "second" },
  });
  const command = `iota miner --orchestrator 'iota://10.0.0.5:9009/two#${other}' --wallet hot --hotkey second`;
  assertEquals([message, next], [detail, `Join the run that it serves: ${command}`]);
});

Deno.test("Link errors: a restart of the orchestrator reads as one, and another end of a session says why", () => {
  assertEquals(sessionLostText(fault("staleResult", "a new session")), "a new session");
  assertEquals(
    sessionLostText(fault("limitExceeded", "too much")),
    "This session with the orchestrator had to end: too much",
  );
});

Deno.test("Link errors: a hotkey that another process uses leads to the command that makes one of its own", () => {
  const cureWith = (of: Partial<NodeWallet>) => rivalCure(`${rivalText}: it signed in`, { ...wallet, ...of });
  assertEquals(
    cureWith({}),
    "or give this node a hotkey of its own, and start it with --hotkey second: iota wallet new --name hot --hotkey second",
  );
  assertMatch(
    cureWith({ hotkey: "second", walletPath: "/my wallets" })!,
    /--hotkey third: iota wallet new --name hot --hotkey third --wallet-path '\/my wallets'$/,
  );
  assertEquals(rivalCure("no answer within 10000 ms", wallet), null);
});

Deno.test("Link errors: a command that an orchestrator suggests names this node's wallet and chain", () => {
  const detail =
    `Cannot admit it; register it: iota chain register --netuid 9 --endpoint local --hotkey ${wallet.address}`;
  const command = (at: string, network: string | null) =>
    refusedError({
      ...{ url: at, role: "miner", fault: fault("notAdmitted", detail), found: null, rememberedIn: null },
      ...{ isOtherRun: false, wallet: { ...wallet, network } },
    }).message.replace(/^.*register it: /, "");
  const register = (endpoint: string) => `iota chain register --netuid 9 --endpoint ${endpoint} --wallet hot`;
  assertEquals(command("ws://127.0.0.1:9009", null), register("local"));
  assertEquals(command(url, "ws://10.0.0.7:9944"), register("ws://10.0.0.7:9944"));
  const [there, note] = command(url, null).split(" (");
  assertEquals(there, register("ws://10.0.0.5:9944"), "the orchestrator's 'local' is on its own machine");
  assertMatch(note!, /^'local' is the chain on the orchestrator's machine.*ask the run's owner\)$/);
  assertEquals(withWallet("--hotkey 5Another", wallet), "--hotkey 5Another");
});
