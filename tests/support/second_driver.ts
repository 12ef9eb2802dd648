/**
 * A second Vulkan driver for the tests of kernels: SwiftShader, which comes with Chromium. Its compiler shares nothing with Mesa's.
 * The driver is chosen when a process starts, so these tests run in processes of their own.
 */

import { isFile } from "./is_file.ts";

const variable = "IOTA_SECOND_ICD"; // a driver description elsewhere

const places = [
  "/usr/lib/chromium/vk_swiftshader_icd.json", // Debian, Arch
  "/usr/lib64/chromium-browser/vk_swiftshader_icd.json", // Fedora
  "/opt/google/chrome/vk_swiftshader_icd.json",
];

export interface SecondDriver {
  readonly env: Readonly<Record<string, string>>; // of a process that uses this driver
}

function findDescription(): string | null {
  const told = Deno.env.get(variable);
  const candidates = told === undefined ? places : [told];
  return candidates.find((path) => isFile(path)) ?? null;
}

const found = Deno.build.os === "linux" ? findDescription() : null;

/** Why there is none, or null. */
export const noSecondDriver: string | null = found === null
  ? `no SwiftShader: install chromium, or name its vk_swiftshader_icd.json in ${variable}`
  : null;

/** For the body of a test that is ignored when `noSecondDriver` is not null. */
export function secondDriver(): SecondDriver {
  if (found === null) throw new Error(noSecondDriver ?? "");
  return { env: { VK_ICD_FILENAMES: found, VK_DRIVER_FILES: found, DENO_WEBGPU_BACKEND: "vulkan" } };
}

/** Runs `deno` with the driver, to its end. */
export async function withSecondDriver(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const root = new URL("../../", import.meta.url).pathname;
  const command = new Deno.Command(Deno.execPath(), {
    args: [...words],
    cwd: root,
    env: { ...secondDriver().env, ...env, NO_COLOR: "1" },
    stdout: "piped",
    stderr: "piped",
  });
  const { code, stdout, stderr } = await command.output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}
