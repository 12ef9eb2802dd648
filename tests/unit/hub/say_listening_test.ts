/** What an orchestrator says about where it listens: the real port, and where nodes of a resumed run look for it. */

import { assertEquals, assertMatch } from "@std/assert";
import type { OptionValues } from "../../../cli/terminal/command.ts";
import { hubPlace } from "../../../cli/orchestrator/run/hub_place.ts";
import { sayListening } from "../../../cli/orchestrator/run/say_listening.ts";
import type { SavedRun } from "../../../cli/files/saved_run.ts";
import { TerminalOutput } from "../../../cli/terminal/output/output.ts";
import { resolveConfig } from "../../../core/settings/parse.ts";
import { nodeId } from "../../../core/ids.ts";
import { FakeHost } from "../../support/fake_host.ts";

interface Given {
  readonly host?: string;
  readonly port?: number;
  readonly "public-address"?: string;
  readonly loopback?: boolean;
}

function optionsOf(values: Given): OptionValues {
  const value = (name: string) => (values as Record<string, unknown>)[name];
  return {
    text: (name) => name === "host" ? values.host ?? "127.0.0.1" : value(name) as string | undefined,
    number: () => values.port ?? 9009,
    flag: (name) => value(name) === true,
    given: (name) => value(name) !== undefined,
  };
}

function savedAt(host: string, port: number): SavedRun {
  const resolved = resolveConfig({ size: "toy" });
  if (!resolved.ok) throw new Error("the toy is right");
  return { runId: "r", config: resolved.config, host, port, hub: null, tokenizerHash: null, from: null, options: {} };
}

/** What is printed once the port is open. */
async function said(
  given: Given,
  saved: SavedRun | null = null,
  network = "none",
): Promise<{ stdout: string; stderr: string }> {
  const host = new FakeHost({ env: { HOME: "/nowhere" } });
  const output = new TerminalOutput({ host, json: false, quiet: false, verbose: false, noColor: true });
  const place = await hubPlace(optionsOf(given), saved);
  const at = { host: place.host, port: place.ports[0] };
  const invite = { socket: place.urlAt(at.port), run: "toy-1", hub: nodeId("5Grwva") };
  sayListening(output, { place, at, saved, invite, chain: { network, netuid: 9 }, miners: 3 });
  return host.written;
}

Deno.test("Listening: with a public address, the port that a proxy needs is named too", async () => {
  const { stdout } = await said({ host: "::1", port: 9230, "public-address": "wss://run.example" });
  assertMatch(stdout, /^Listening on \[::1\]:9230 for 3 miners; other machines reach it at wss:\/\/run\.example/m);
  assertMatch((await said({ port: 9230 })).stdout, /^Listening on ws:\/\/127\.0\.0\.1:9230 for 3 miners$/m);
});

Deno.test("Listening: the dashboard has the address that nodes dial, as a browser writes it", async () => {
  const at = async (given: Given) => /^Dashboard: (.*)$/m.exec((await said(given)).stdout)?.[1];
  assertEquals(await at({ port: 9230 }), "http://127.0.0.1:9230/");
  assertEquals(await at({ host: "::1", port: 9230 }), "http://[::1]:9230/");
  assertEquals(await at({ "public-address": "wss://run.example" }), "https://run.example/");
});

Deno.test("Listening: what keeps others out is what the advice undoes", async () => {
  const asked = await said({ host: "0.0.0.0", loopback: true });
  assertMatch(asked.stdout, /Only this machine can join; .* without --loopback, and without loopback in \[hub\]/);
  assertEquals(asked.stdout.includes("--host"), false);
  assertMatch((await said({})).stdout, /Only this machine can join; .* with --host 0\.0\.0\.0/);
});

Deno.test("Listening: a resumed run that its nodes will not find says where they look, and how to go back", async () => {
  const saved = savedAt("10.77.0.1", 9211);
  const moved =
    /before look for this run at ws:\/\/10\.77\.0\.1:9211, not at ws:\/\/10\.77\.0\.1:9212: .* --host 10\.77\.0\.1 --port 9211/;
  assertMatch((await said({ port: 9212 }, saved)).stderr, moved);
  for (
    const [given, before] of [
      [{}, saved],
      [{ port: 9212 }, null],
      [{ port: 9212, loopback: true }, saved], // a swarm starts its nodes itself
      [{ host: "0.0.0.0", port: 9211 }, saved], // reached there as well
      [{ host: "::1", "public-address": "run.example:80" }, { ...saved, host: "127.0.0.1" }],
    ] as const
  ) assertEquals((await said(given, before)).stderr, "", JSON.stringify(given));
});

Deno.test("Listening: after a switch of TLS the old address is named as it was, and going back to it is not the advice", async () => {
  const saved = { ...savedAt("10.77.0.1", 9211), options: { "tls-cert": "/keys/cert.pem" } };
  const { stderr } = await said({ host: "10.77.0.1", port: 9211 }, saved);
  assertMatch(stderr, /at wss:\/\/10\.77\.0\.1:9211, not at ws:\/\/10\.77\.0\.1:9211: restart them with the line/);
  assertMatch((await said({ host: "0.0.0.0", port: 9211 }, saved)).stderr, /look for this run at wss:\/\/10\.77/);
});

Deno.test("Listening: nodes that follow the chain's announcement are not a reason for a warning", async () => {
  const { stdout, stderr } = await said({ port: 9212 }, savedAt("10.77.0.1", 9211), "finney");
  assertEquals(stderr, "");
  assertMatch(stdout, /joined by address look .* at ws:\/\/10\.77\.0\.1:9211, .* found it on the chain follow/);
});

Deno.test("Listening: the lines to join with name a private chain, and the commands of both roles", async () => {
  const lines = async (network: string, given: Given = {}) => {
    const { stdout, stderr } = await said(given, null, network);
    return {
      join: /^Join with: (.*)$/m.exec(stdout)?.[1],
      validate: /^Validate with: (.*)$/m.exec(stdout)?.[1],
      stderr,
    };
  };
  const own = await lines("ws://127.0.0.1:9944");
  assertMatch(own.join!, /^iota miner --orchestrator '\S+' .*--chain ws:\/\/127\.0\.0\.1:9944 --netuid 9$/);
  assertMatch(own.validate!, /^iota validate --orchestrator '\S+' .*--chain ws:\/\/127\.0\.0\.1:9944 --netuid 9$/);
  assertEquals(own.stderr, "");
  for (const network of ["none", "finney"]) {
    assertEquals((await lines(network)).join!.includes("--chain"), false);
  }
  const open = { host: "10.77.0.1" };
  assertMatch(
    (await lines("local", open)).stderr,
    /cannot reach the chain at ws:\/\/127\.0\.0\.1:9944.*--host 0\.0\.0\.0/,
  );
  assertEquals((await lines("ws://10.77.0.1:9944", open)).stderr, "");
});
