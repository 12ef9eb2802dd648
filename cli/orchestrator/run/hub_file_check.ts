/** Checks TLS and address in [hub] of a run's file, with problems by line. */

import type { Problem } from "../../../core/settings/parse.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { type ConfigFile, placeProblems, readConfigFile } from "../../terminal/options/config_file.ts";
import { isPathOption } from "../../terminal/options/args.ts";
import { type Environment, expandHome } from "../../program/paths.ts";
import { UserError } from "../../program/errors.ts";
import { hubTable } from "../../terminal/options/hub_options.ts";
import { hubPart } from "../../terminal/options/run_file.ts";
import { mustBeHost, publicUrl } from "../../address/public_address.ts";
import { type NamedPath, readTlsPair } from "../../files/tls_files.ts";

interface GivenPlace {
  readonly host: NamedPath | undefined;
  readonly certificate: NamedPath | undefined;
  readonly key: NamedPath | undefined;
  readonly publicAddress: NamedPath | undefined;
}

export async function hubFileProblems(
  table: ConfigFile["table"],
  { environment }: Pick<CommandContext, "environment">,
): Promise<Problem[]> {
  const texts = hubTexts(table, environment);
  const given = (option: string, setting: string) => {
    const text = texts.get(option) ?? "";
    return text === "" ? undefined : { name: `${hubTable}.${setting}`, text };
  };
  return await problemsOf(placeBy(given));
}

export async function mustHaveSoundHub(
  { options, environment }: Pick<CommandContext, "options" | "environment">,
): Promise<void> {
  const path = options.text("config");
  if (path === undefined || options.flag("loopback")) return; // a swarm's orchestrator ignores all of them
  const file = await readConfigFile(path);
  const inFile = hubTexts(file.table, environment);
  const given = (option: string, setting: string) => {
    const text = options.text(option);
    const isFromFile = inFile.get(option) === text;
    return text === undefined ? undefined : { name: isFromFile ? `${hubTable}.${setting}` : `--${option}`, text };
  };
  const problems = await problemsOf(placeBy(given));
  if (problems.length === 0) return;
  throw new UserError(placeProblems({ problems, file }).join("\n"), {
    next: `Correct ${file.path} and start again; paths in it are relative to the current folder`,
  });
}

export function hubTexts(table: ConfigFile["table"], environment: Environment): ReadonlyMap<string, string> {
  return new Map(
    [...hubPart(table)].map(([spec, value]) => [
      spec.name,
      isPathOption(spec) ? expandHome(String(value), environment) : String(value),
    ]),
  );
}

function placeBy(given: (option: string, setting: string) => NamedPath | undefined): GivenPlace {
  return {
    host: given("host", "host"),
    certificate: given("tls-cert", "tlsCert"),
    key: given("tls-key", "tlsKey"),
    publicAddress: given("public-address", "publicAddress"),
  };
}

async function problemsOf({ host, certificate, key, publicAddress }: GivenPlace): Promise<Problem[]> {
  const pair = [certificate?.name, key?.name];
  const isPairInFile = pair.some(isSetting);
  const problems = [
    isPairInFile ? await problemOf([certificate, key], () => readTlsPair({ certificate, key })) : null,
    await problemOf([host], () => host === undefined ? undefined : mustBeHost(host.text, host.name)),
    await problemOf([publicAddress], () => {
      const bound = { host: "127.0.0.1", port: 1, isTls: false, interfaces: [] };
      if (publicAddress !== undefined) publicUrl({ ...bound, publicAddress: publicAddress.text }, publicAddress.name);
    }),
  ];
  return problems.filter((problem) => problem !== null);
}

const isSetting = (name: string | undefined) => name?.startsWith(`${hubTable}.`) === true;

async function problemOf(given: readonly (NamedPath | undefined)[], attempt: () => unknown): Promise<Problem | null> {
  try {
    await attempt();
    return null;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const { message: text } = error;
    const named = given.find((each) => each !== undefined && text.startsWith(`Cannot use ${each.name} `));
    return named !== undefined && isSetting(named.name) ? { path: named.name, text, origin: "file" } : null;
  }
}
