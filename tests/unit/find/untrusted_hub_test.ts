/** `iota runs` and an orchestrator whose certificate is not trusted: it answers, and the list says what asks it. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { nodeId } from "../../../core/ids.ts";
import type { Announcement } from "../../../cli/address/announcements.ts";
import { fieldsOf, linesOf } from "../../../cli/node/find/list_runs.ts";
import { reachProblem } from "../../../cli/address/reach_problem.ts";
import { askAnyStatus } from "../../../cli/node/find/run_status.ts";
import { testSigner } from "../../support/net/test_keys.ts";

const hub = nodeId(testSigner(1).address);
const announcement = {
  ...{
    invite: { run: "own", socket: "wss://run.example:9009", hub },
    hotkey: hub,
    by: "owner",
    stakeRao: 0n,
    block: 4,
  },
} as Announcement;

const place = { network: "finney", netuid: 9 };

/** As the runtime throws it. */
const untrusted = () =>
  new TypeError("error sending request for url (https://run.example:9009/status)", {
    cause: new Error("client error (Connect): invalid peer certificate: UnknownIssuer"),
  });

Deno.test("Runs: an orchestrator with an untrusted certificate is told apart from one that does not answer", async () => {
  const ask = (error: Error) =>
    askAnyStatus({ http: "https://run.example:9009", deadlineMs: 1_000, fetch: () => Promise.reject(error) });
  assertEquals(await ask(untrusted()), "untrusted");
  assertEquals(await ask(new TypeError("tcp connect error: Connection refused")), null);
  const shown = { announcement, status: null, answers: "untrusted" } as const;
  assertMatch(
    linesOf(shown, { place }).join("\n"),
    /now .*answers with a certificate that is not trusted here: .*--tls-ca cert.pem/,
  );
  assertEquals([fieldsOf(shown)["isReachable"], fieldsOf(shown)["answers"]], [false, "untrusted"]);
  assert(linesOf(shown, { authorityFile: "cert.pem", place }).some((line) => line.endsWith(" --tls-ca cert.pem")));
});

Deno.test("Reach problems: an untrusted certificate has the option that trusts it as its fix", () => {
  assertMatch(reachProblem(untrusted()).fix, /add --tls-ca cert.pem/);
  assertMatch(reachProblem(new TypeError("Connection refused")).fix, /the orchestrator is running/);
});
