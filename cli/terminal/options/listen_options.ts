/** Where a server listens: `--host` and `--port`, the same for every command that has one. */

import type { OptionSpec } from "../command.ts";

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
