/** From words to typed options, and the message for every mistake. */

import { assertEquals, assertThrows } from "@std/assert";
import { closest, parseOptions, splitCommand } from "../../../cli/terminal/options/args.ts";
import { commonOptions, type OptionSpec } from "../../../cli/terminal/command.ts";
import { UsageError } from "../../../cli/program/errors.ts";

const options: readonly OptionSpec[] = [
  { name: "steps", kind: "int", placeholder: "N", min: 1, doc: "optimizer steps" },
  { name: "replicas", kind: "int", placeholder: "N", min: 1, max: 64, default: 2, doc: "miners a stage" },
  { name: "rate", kind: "float", placeholder: "X", doc: "a rate" },
  { name: "size", kind: "string", placeholder: "NAME", default: "tiny", doc: "the dial" },
  { name: "codec", kind: "choice", placeholder: "NAME", choices: ["none", "iota"], doc: "the wire" },
  { name: "endpoint", kind: "string", placeholder: "CHAIN", doc: "a chain" },
  { name: "fast", kind: "boolean", doc: "a flag" },
];

const parse = (line: string, maxPositionals = 0) =>
  parseOptions({
    words: line === "" ? [] : line.split(" "),
    options,
    maxPositionals,
    helpCommand: "iota help swarm",
  });

function checkRefused(line: string, message: string): void {
  const error = assertThrows(() => parse(line), UsageError);
  assertEquals(error.message, message);
  assertEquals(error.next, "See iota help swarm");
}

Deno.test("Arguments: entries of a list add up; of any other option, what is typed counts before what a file says", () => {
  const text = (name: string, placeholder: string) => ({ name, kind: "string", placeholder, doc: "" }) as const;
  const { options } = parseOptions({
    words: ["--set=b=2", "--name", "second", "--set", "c=3"],
    below: ["--set", "a=1", "--name", "kept", "--name", "of the file"],
    options: [text("set", "PATH=VALUE,…"), text("name", "NAME"), text("unset", "PATH=VALUE,…")],
    maxPositionals: 0,
    helpCommand: "iota help",
  });
  assertEquals([options.text("set"), options.text("name"), options.text("unset")], [
    "a=1,b=2,c=3",
    "second",
    undefined,
  ]);
});

Deno.test("Arguments: values are typed, defaults apply, and given options are known", () => {
  const { options } = parse("--steps 40 --rate=1e-3 --fast");
  assertEquals(options.number("steps"), 40);
  assertEquals(options.number("rate"), 0.001);
  assertEquals(options.flag("fast"), true);
  assertEquals([options.number("replicas"), options.given("replicas")], [2, false]);
  assertEquals([options.text("size"), options.given("steps")], ["tiny", true]);
  assertEquals(options.text("codec"), undefined);
});

Deno.test("Arguments: an option given twice is refused unless it says the same", () => {
  checkRefused("--steps 40 --steps=50", "--steps is given twice with different values: '40' and '50'");
  checkRefused(
    "--size a --fast --size b --size a",
    "--size is given twice with different values: 'a' and 'b'",
  );
  assertEquals(parse("--steps 40 --steps 40 --fast --fast").options.number("steps"), 40);
});

Deno.test("Arguments: a negative number is a value, not an option", () => {
  assertEquals(parse("--rate -2.5").options.number("rate"), -2.5);
  checkRefused("--steps -1", "--steps must be a whole number of at least 1, but is '-1'");
});

Deno.test("Arguments: a value of another kind names the rule and the value", () => {
  checkRefused("--steps x", "--steps must be a whole number of at least 1, but is 'x'");
  checkRefused("--steps 1.5", "--steps must be a whole number of at least 1, but is '1.5'");
  checkRefused(
    "--replicas 65",
    "--replicas must be a whole number from 1 to 64, but is '65'",
  );
  checkRefused("--rate 0x10", "--rate must be a number, but is '0x10'");
  checkRefused(
    "--steps 9007199254740993",
    "--steps must be a whole number of at least 1, " +
      "but is '9007199254740993'",
  );
  checkRefused(
    "--codec iotta",
    "--codec must be one of none, iota, but is 'iotta'. " +
      "Did you mean iota?",
  );
});

Deno.test("Arguments: an unknown option proposes the nearest one", () => {
  checkRefused("--stpes 3", "This command has no option --stpes. Did you mean --steps?");
  checkRefused("--repl=3", "This command has no option --repl. Did you mean --replicas?");
  checkRefused("--zzz", "This command has no option --zzz");
  checkRefused("--none", "This command has no option --none. Did you mean --codec none?");
  checkRefused("--chain a", "This command has no option --chain. Did you mean --endpoint?");
  checkRefused("--name a", "This command has no option --name"); // two options take a NAME
});

Deno.test("Arguments: a missing value shows what belongs there", () => {
  checkRefused("--size", "--size needs a value: --size NAME");
  checkRefused("--size --fast", "--size needs a value: --size NAME");
});

Deno.test("Arguments: words beside the options are counted, and stay words", () => {
  checkRefused("extra", "Unexpected 'extra': this command takes nothing besides its options");
  assertEquals(parse("007 --fast", 1).positionals, ["007"]);
});

Deno.test("Arguments: a flag takes the next word only if it is true or false", () => {
  const flag = (line: string) => parse(line, 1).options.flag("fast");
  assertEquals([flag("--fast run"), flag("--fast true"), flag("--fast false"), flag("--fast=false")], [
    true,
    true,
    false,
    false,
  ]);
  assertEquals(parse("--fast run", 1).positionals, ["run"]);
});

Deno.test("Arguments: words after two dashes are left alone", () => {
  const { options, positionals } = parse("a -- --fast --zzz -1", 4);
  assertEquals([options.flag("fast"), positionals], [false, ["a", "--fast", "--zzz", "-1"]]);
});

Deno.test("Arguments: -h is --help", () => {
  const { options } = parseOptions({ words: ["-h"], options: commonOptions, maxPositionals: 0, helpCommand: "iota" });
  assertEquals(options.flag("help"), true);
  checkRefused("-x", "This command has no option -x");
});

Deno.test("Arguments: the command is the first word that is neither an option nor an option's value", () => {
  const split = (line: string) => splitCommand(line.split(" "), commonOptions);
  assertEquals(split("swarm --steps 4"), { name: "swarm", rest: ["--steps", "4"] });
  assertEquals(split("--json --data x swarm --steps 4"), {
    name: "swarm",
    rest: ["--json", "--data", "x", "--steps", "4"],
  });
  assertEquals(split("--json --data x"), { name: undefined, rest: ["--json", "--data", "x"] });
});

Deno.test("Arguments: only a near word is proposed", () => {
  const commands = ["swarm", "miner", "validate", "orchestrate", "generate"];
  assertEquals(closest("swram", commands), "swarm");
  assertEquals(closest("mine", commands), "miner");
  assertEquals(closest("orch", commands), "orchestrate");
  assertEquals(closest("x", commands), undefined);
});
