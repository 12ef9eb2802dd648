/** `iota bench`: what it rejects, and the shape of its output. The numbers themselves depend on the machine. */

import { lab } from "../../lab/main.ts";
import { assert, assertAlmostEquals, assertEquals, assertStringIncludes } from "@std/assert";
import { measureRestart } from "../../lab/bench/restart.ts";
import { main } from "../../../cli/command_line.ts";
import { nextTurn } from "../../../net/turns.ts";
import { FakeHost } from "../../support/fake_host.ts";
import { isWhole, slowTest } from "../../support/whole.ts";

async function bench(...words: string[]) {
  const host = new FakeHost();
  const code = await main(["bench", ...words], host, lab);
  return { code, ...host.written };
}

Deno.test("Bench: an unknown benchmark or part proposes the nearest and exits with 2", async () => {
  const benchmark = await bench("hbu");
  assertEquals([benchmark.code, benchmark.stdout], [2, ""]);
  assertStringIncludes(
    benchmark.stderr,
    "There is no benchmark 'hbu', only hub, step, gemm, attention, wire, adapter. Did you mean hub?",
  );
  const part = await bench("hub", "rely");
  assertEquals([part.code, part.stdout], [2, ""]);
  assertStringIncludes(part.stderr, "There is no part of hub 'rely', only ");
});

for (const part of isWhole ? ["hello", "messages"] : ["messages"]) {
  Deno.test(`Bench hub ${part}: prints a measurement and a summary`, async () => {
    const { code, stdout } = await bench("hub", part, "--seconds", "0.1", "--json");
    assertEquals(code, 0);
    const [measurement, summary] = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
    assertEquals([measurement.type, measurement.benchmark, measurement.part], ["measurement", "hub", part]);
    assertEquals(summary.type, "summary");
    const numbers = Object.entries(summary).filter(([name]) => name !== "type");
    assert(numbers.length > 0 && numbers.every(([, value]) => typeof value === "number" && value > 0), stdout);
  });
}

slowTest("Bench: a restart is measured on a journal that is due for a snapshot", () => {
  const cost = measureRestart(12);
  assert(cost.entries >= 4096 && cost.entries < 4096 + 64, `${cost.entries} entries`);
  assert(Object.values(cost).every((value) => value > 0) && cost.openMs + cost.replayMs <= cost.restartMs + 1e-6);
});

slowTest("Bench: wire tells the bytes that every codec puts on a socket, framing included", async () => {
  const { code, stdout } = await bench("wire", "--d", "2048", "--seconds", "0.1", "--json");
  assertEquals(code, 0);
  const { rows } = JSON.parse(stdout.trimEnd().split("\n").at(-1)!);
  const bytesOf = (codec: string, direction: string) =>
    rows.find((row: Record<string, unknown>) => row["codec"] === codec && row["direction"] === direction).bytesPerToken;
  const overhead = bytesOf("none", "forward") - 4 * 2048;
  assert(overhead > 0 && overhead < 0.2, `${overhead} bytes per token of framing`);
  assertAlmostEquals(bytesOf("iota", "gradient"), 128 + overhead, 1e-6);
  assertAlmostEquals(bytesOf("q4block", "forward"), 33 + overhead, 0.01);
  assertAlmostEquals(bytesOf("q4block", "gradient"), 65 + overhead, 0.01);
});

Deno.test("Bench: a word or an option that the chosen benchmark would ignore is refused, with those that take it", async () => {
  for (
    const [words, problem] of [
      ["wire relay", "Bench wire has no part 'relay'"],
      ["wire --size tiny", "--size does not apply to bench wire, only to bench step"],
      ["gemm --d 64", "--d does not apply to bench gemm, only to bench wire"],
      ["hub restart --seconds 1", "--seconds does not apply to bench hub restart"],
    ] as const
  ) {
    const { code, stdout, stderr } = await bench(...words.split(" "));
    assertEquals([code, stdout], [2, ""], words);
    assertStringIncludes(stderr, problem);
  }
});

Deno.test("Bench: wire refuses a width that no model has", async () => {
  for (const [width, near] of [["2047", "2048"], ["16388", "16384"]] as const) {
    const { code, stderr } = await bench("wire", "--d", width);
    assertEquals(code, 2);
    assertStringIncludes(stderr, `--d is ${width}, and a model's width must be a multiple of 32`);
    assertStringIncludes(stderr, `lab bench wire --d ${near}`);
  }
});

Deno.test("Bench: wire measures wires that a run can have, whose values are a multiple of four", async () => {
  const { code, stdout } = await bench("wire", "--d", "288", "--seconds", "0.1", "--json");
  assertEquals(code, 0);
  const { rows } = JSON.parse(stdout.trimEnd().split("\n").at(-1)!);
  const widths = new Set(rows.map((row: Record<string, unknown>) => row["values"]));
  assertEquals(widths, new Set([288, 12]));
});

for (const words of [["wire", "--d", "32"], ["hub", "messages"]]) {
  Deno.test(`Bench: ${words.join(" ")} lets Ctrl-C through and tells what it has measured`, async () => {
    const host = new FakeHost();
    const interrupting = nextTurn().then(() => host.interrupt());
    const code = await main(["bench", ...words, "--seconds", "6", "--json"], host, lab);
    await interrupting;
    const lines = host.written.stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
    const { finished, reason, rows = [] } = lines.at(-1);
    assertEquals([code, finished, reason], [1, false, "interrupted"]);
    assertEquals(lines.length - 1, rows.length);
  });
}

Deno.test("Bench hub: when interrupted, it keeps the parts that were measured", async () => {
  const host = new FakeHost();
  const write = host.write.bind(host);
  host.write = (stream, text) => {
    write(stream, text);
    if (text.includes('"part":"messages"')) host.interrupt();
  };
  assertEquals(await main(["bench", "hub", "messages", "--seconds", "0.1", "--json"], host, lab), 1);
  const { finished, messageRoundTripsPerSecond } = JSON.parse(host.written.stdout.trimEnd().split("\n").at(-1)!);
  assertEquals(finished, false);
  assert(messageRoundTripsPerSecond > 0);
});
