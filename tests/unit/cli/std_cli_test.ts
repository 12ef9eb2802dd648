/**
 * The argument parser behind `@std/cli`: the call shapes that our commands rely on.
 * The same file passes with the genuine package (`--import-map jsr.json`); a case that would not has no place here.
 */

import { assertEquals } from "@std/assert";
import { parseArgs } from "@std/cli";

Deno.test("parseArgs: flags are false until given, strings undefined, collections empty", () => {
  const args = parseArgs(["swarm"], { boolean: ["json"], string: ["size"], collect: ["set"] });
  assertEquals(args._, ["swarm"]);
  assertEquals(args.json, false);
  assertEquals(args.size, undefined);
  assertEquals(args.set, []);
});

Deno.test("parseArgs: a string option takes the next word or what follows the equals sign, and stays a string", () => {
  const args = parseArgs(["--steps", "40", "--size=tiny", "x"], { string: ["steps", "size"] });
  assertEquals(args.steps, "40");
  assertEquals(args.size, "tiny");
  assertEquals(args._, ["x"]);
});

Deno.test("parseArgs: a flag does not swallow the word behind it, and a string option not the flag behind it", () => {
  const args = parseArgs(["--json", "run", "--size", "--fresh"], { boolean: ["json", "fresh"], string: ["size"] });
  assertEquals(args.json, true);
  assertEquals(args.fresh, true);
  assertEquals(args.size, "");
  assertEquals(args._, ["run"]);
});

Deno.test("parseArgs: the last value wins, a collected option keeps all", () => {
  const args = parseArgs(["--size", "a", "--size", "b", "--set", "x=1", "--set", "y=2"], {
    string: ["size", "set"],
    collect: ["set"],
  });
  assertEquals(args.size, "b");
  assertEquals(args.set, ["x=1", "y=2"]);
});

Deno.test("parseArgs: aliases, short or long, set each other", () => {
  const args = parseArgs(["-h", "--conf", "run.toml"], {
    boolean: ["help"],
    string: ["config"],
    alias: { help: ["h"], config: ["c", "conf"] },
  });
  assertEquals(args.help, true);
  assertEquals(args.config, "run.toml");
  assertEquals(args["c"], "run.toml");
});

Deno.test("parseArgs: what follows two dashes is left alone", () => {
  assertEquals(parseArgs(["a", "--", "--json"], { boolean: ["json"] })._, ["a", "--json"]);
});

Deno.test("parseArgs: unknown sees what is not declared and may drop it", () => {
  const seen: string[] = [];
  const args = parseArgs(["go", "--sise", "tiny", "--json"], {
    boolean: ["json"],
    string: ["size"],
    unknown: (argument, key) => {
      if (key === undefined) return true;
      seen.push(argument);
      return false;
    },
  });
  assertEquals(seen, ["--sise"]);
  assertEquals(args["sise"], undefined);
  assertEquals(args._, ["go"]);
});
