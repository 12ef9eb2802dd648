/**
 * The options of `iota orchestrate` for its process, and their names in a run file's [hub] table (`--tls-cert` is
 * `tlsCert`). Unlike a run's settings they are not sent to nodes.
 */

import type { OptionSpec } from "../command.ts";
import { logOptions } from "./service_options.ts";
import { walletOptions } from "./wallet_options.ts";

export function listenOptions({ port }: { port: number }): OptionSpec[] {
  return [
    {
      name: "host",
      kind: "string",
      placeholder: "ADDRESS",
      default: "127.0.0.1",
      doc: "listen here; 0.0.0.0 for the whole network",
    },
    {
      name: "port",
      kind: "int",
      placeholder: "PORT",
      min: 0,
      max: 65535,
      default: port,
      doc: "listen here; 0 takes any free one",
    },
  ];
}

const addressOptions: readonly OptionSpec[] = [
  ...listenOptions({ port: 9009 }),
  {
    name: "public-address",
    kind: "string",
    placeholder: "ADDRESS",
    defaultText: "this machine's own",
    doc: "where others reach this orchestrator, for the join line: 203.0.113.7, run.example:443 or wss://run.example",
  },
  {
    name: "tls-cert",
    kind: "string",
    placeholder: "FILE",
    doc: "certificate chain in PEM; the port then speaks TLS, and nodes dial wss://",
  },
  { name: "tls-key", kind: "string", placeholder: "FILE", doc: "private key of that certificate in PEM" },
  { name: "loopback", kind: "boolean", doc: "listen only on this machine and without TLS, whatever the file says" },
];

const signingOptions: readonly OptionSpec[] = walletOptions.map((option) =>
  option.name === "wallet"
    ? {
      name: "wallet",
      kind: "string",
      placeholder: "NAME",
      defaultText: "one created in the data folder",
      doc: "the wallet whose hotkey signs for the orchestrator",
    }
    : option
);

export const checkpointsDefault = 3;

const checkpointOptions: readonly OptionSpec[] = [
  {
    name: "checkpoints",
    kind: "int",
    placeholder: "N",
    min: 1,
    max: 1_000_000,
    default: checkpointsDefault,
    doc: "keep so many of the newest checkpoints",
  },
  {
    name: "milestones",
    kind: "int",
    placeholder: "STEPS",
    min: 0,
    max: 100_000_000,
    default: 0,
    doc: "also keep the first checkpoint at or after each multiple of so many steps; 0: none",
  },
];

export const hubOptions: readonly OptionSpec[] = [
  ...addressOptions,
  ...checkpointOptions,
  ...logOptions,
  ...signingOptions,
];

/** A swarm's nodes are on this machine. */
export const loopbackWord = "--loopback";

export const hubTable = "hub";

export function settingName({ name }: Pick<OptionSpec, "name">): string {
  return name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
