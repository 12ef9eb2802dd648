/** Every command by the name a person types, in the order of the help. A new command is one line here and one file. */

import type { CommandTable } from "./command.ts";

export const commandTable: CommandTable = {
  swarm: async () => (await import("./commands/swarm.ts")).command,
  miner: async () => (await import("./commands/miner.ts")).command,
  validate: async () => (await import("./commands/validate.ts")).command,
  runs: async () => (await import("./commands/runs.ts")).command,
  orchestrate: async () => (await import("./commands/orchestrate.ts")).command,
  admin: async () => (await import("./commands/admin.ts")).command,
  dashboard: async () => (await import("./commands/dashboard.ts")).command,
  verify: async () => (await import("./commands/verify.ts")).command,
  explain: async () => (await import("./commands/explain.ts")).command,
  generate: async () => (await import("./commands/generate.ts")).command,
  plan: async () => (await import("./commands/plan.ts")).command,
  sim: async () => (await import("./commands/sim.ts")).command,
  doctor: async () => (await import("./commands/doctor.ts")).command,
  config: async () => (await import("./commands/config.ts")).command,
  experiment: async () => (await import("./commands/experiment.ts")).command,
  redteam: async () => (await import("./commands/redteam.ts")).command,
  bench: async () => (await import("./commands/bench.ts")).command,
  chain: async () => (await import("./commands/chain.ts")).command,
  service: async () => (await import("./commands/service.ts")).command,
  wallet: async () => (await import("./commands/wallet.ts")).command,
  completions: async () => (await import("./commands/completions.ts")).command,
  man: async () => (await import("./commands/man.ts")).command,
};
