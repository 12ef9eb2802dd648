/**
 * The laboratory's program, `./lab`: simulated swarms, attackers, experiments and benchmarks of the code that `iota` ships.
 *
 * Options, output and exit codes are as in `iota`, whose entry it shares. It gives up no rights: it runs on its owner's machine, from
 * a checkout only.
 */

import type { Program } from "../../cli/terminal/command.ts";
import { denoHost } from "../../cli/rights/host.ts";
import { main } from "../../cli/command_line.ts";
import { restoreHome } from "../../cli/program/self.ts";

export const lab: Program = {
  name: "lab",
  about: "With lab, the code of iota is simulated, attacked and measured, without a network.",
  firstSteps: [
    ["lab sim --seed 7", "a swarm under every kind of fault, in virtual time"],
    ["lab help COMMAND", "options and examples of one command"],
  ],
  commands: {
    sim: async () => (await import("./commands/sim.ts")).command,
    redteam: async () => (await import("./commands/redteam.ts")).command,
    experiment: async () => (await import("./commands/experiment.ts")).command,
    bench: async () => (await import("./commands/bench.ts")).command,
    attacker: async () => (await import("./commands/attacker.ts")).command,
  },
};

if (import.meta.main) {
  restoreHome();
  const host = denoHost({ taken: {}, confined: null });
  host.exit(await main(Deno.args, host, lab));
}
