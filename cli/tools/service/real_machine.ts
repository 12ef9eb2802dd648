/** The machine itself, for `iota service`. */

import { readIfPresent, realDisk, writeAtomically } from "../../files/disk.ts";
import { dirname } from "node:path";
import type { CommandLine } from "./service_manager.ts";
import type { Machine } from "./service_actions.ts";

export const realMachine: Machine = {
  async run([program, ...args]) {
    try {
      const { code, stdout, stderr } = await new Deno.Command(program!, { args, stdin: "null" }).output();
      const decoder = new TextDecoder();
      return { code, text: `${decoder.decode(stdout)}${decoder.decode(stderr)}` };
    } catch (error) {
      if (error instanceof Deno.errors.NotFound || isUnknownProgram(error)) return null;
      throw error;
    }
  },
  async show([program, ...args]: CommandLine) {
    const { code } = await new Deno.Command(program!, { args, stdout: "inherit", stderr: "inherit" }).spawn().status;
    return code;
  },
  async read(path) {
    const bytes = await readIfPresent(path);
    return bytes === null ? null : new TextDecoder().decode(bytes);
  },
  createFolder: (path) => realDisk.createFolder(path),
  async write(path, text) {
    await realDisk.createFolder(dirname(path));
    await writeAtomically(path, { disk: realDisk, chunks: [new TextEncoder().encode(text)] });
  },
  async remove(path) {
    const wasThere = await readIfPresent(path) !== null;
    await realDisk.remove(path);
    return wasThere;
  },
};

/** A program that is not on the PATH when rights are given up cannot be allowed by name. */
const isUnknownProgram = (error: unknown): boolean => error instanceof Deno.errors.NotCapable;
