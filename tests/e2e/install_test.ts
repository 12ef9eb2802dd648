/** `install.sh` in every shell that is here, by tests/e2e/install_test.sh: a step for each of its cases. */

import { assert, assertEquals, assertNotEquals } from "@std/assert";

const script = new URL("install_test.sh", import.meta.url);
const shells = ["dash", "bash", "busybox sh"];

Deno.test("Installer: installs, upgrades and uninstalls in every shell, and a failure leaves what was there", async (t) => {
  if (Deno.build.os === "windows") return console.log("skipped: install.sh is for Linux and macOS");
  const here = shells.filter((shell) => isOnPath(shell.split(" ")[0]!));
  console.log(
    `install.sh in ${here.join(", ")}; not here: ${shells.filter((each) => !here.includes(each)).join(", ")}`,
  );
  assertNotEquals(here, []);
  const runs = await Promise.all(here.map(async (shell) => ({ shell, ...await runCases(shell) })));
  for (const { shell, code, lines, stderr } of runs) {
    for (const line of lines) {
      const [, outcome, name, reason] = /^(ok|not ok|skip) ([^:]*)(?:: (.*))?$/.exec(line) ?? [];
      assert(outcome !== undefined && name !== undefined, `${shell}: ${line}`);
      const assertOutcome = () => assertNotEquals(outcome, "not ok", reason);
      await t.step({ name: `${shell}: ${name}`, ignore: outcome === "skip", fn: assertOutcome });
    }
    assertEquals(code, lines.some((line) => line.startsWith("not ok")) ? 1 : 0, stderr);
  }
});

async function runCases(shell: string): Promise<{ code: number; lines: string[]; stderr: string }> {
  const folder = Deno.execPath().replace(/\/[^/]*$/, "");
  const { code, stdout, stderr } = await new Deno.Command("sh", {
    args: [decodeURIComponent(script.pathname), ...shell.split(" ")],
    env: { PATH: `${folder}:${Deno.env.get("PATH") ?? ""}` },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const decoder = new TextDecoder();
  return { code, lines: decoder.decode(stdout).trimEnd().split("\n"), stderr: decoder.decode(stderr) };
}

function isOnPath(program: string): boolean {
  const folders = (Deno.env.get("PATH") ?? "").split(":");
  return folders.some((folder) => isFile(`${folder}/${program}`));
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return false;
    throw error;
  }
}
