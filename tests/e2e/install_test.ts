/** `install.sh` in every shell that is here, by tests/e2e/install_test.sh: a step for each of its cases. */

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { stepWhere, testWhere } from "../support/test_where.ts";

const script = new URL("install_test.sh", import.meta.url);
const shells = ["dash", "bash", "busybox sh"];

const notHere = Deno.build.os === "windows" ? "install.sh is for Linux and macOS" : null;
testWhere(
  notHere,
  "Installer: installs and upgrades in every shell, and a failure changes nothing",
  async (t) => {
    const here = shells.filter((shell) => isOnPath(shell.split(" ")[0]!));
    for (const shell of shells) if (!here.includes(shell)) await stepWhere(t, "not here", shell, () => {});
    assertNotEquals(here, []);
    const runs = await Promise.all(here.map(async (shell) => ({ shell, ...await runCases(shell) })));
    for (const { shell, code, lines, stderr } of runs) {
      for (const line of lines) {
        const [, outcome, name, reason] = /^(ok|not ok|skip) ([^:]*)(?:: (.*))?$/.exec(line) ?? [];
        assert(outcome !== undefined && name !== undefined, `${shell}: ${line}`);
        const assertOutcome = () => assertNotEquals(outcome, "not ok", reason);
        await stepWhere(t, outcome === "skip" ? reason ?? "" : null, `${shell}: ${name}`, assertOutcome);
      }
      assertEquals(code, lines.some((line) => line.startsWith("not ok")) ? 1 : 0, stderr);
    }
  },
);

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
