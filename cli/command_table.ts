/** Every command by the name a person types, in the order of the help. */

import type { CommandTable, Program } from "./terminal/command.ts";

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
  data: async () => (await import("./commands/data.ts")).command,
  chat: async () => (await import("./commands/chat.ts")).command,
  generate: async () => (await import("./commands/generate.ts")).command,
  export: async () => (await import("./commands/export.ts")).command,
  serve: async () => (await import("./commands/serve.ts")).command,
  eval: async () => (await import("./commands/eval.ts")).command,
  plan: async () => (await import("./commands/plan.ts")).command,
  doctor: async () => (await import("./commands/doctor.ts")).command,
  config: async () => (await import("./commands/config.ts")).command,
  bench: async () => (await import("./commands/bench.ts")).command,
  chain: async () => (await import("./commands/chain.ts")).command,
  service: async () => (await import("./commands/service.ts")).command,
  wallet: async () => (await import("./commands/wallet.ts")).command,
  completions: async () => (await import("./commands/completions.ts")).command,
};

export const iota: Program = {
  name: "iota",
  about: "With iota, strangers train one language model together over ordinary internet links.",
  firstSteps: [
    ["iota swarm", "a whole subnet on this machine: no GPU, account or wallet needed"],
    ["iota doctor", "what this machine can do and what is missing"],
    ["iota help COMMAND", "options and examples of one command"],
    ["iota --version", "the version"],
  ],
  commands: commandTable,
  topics: {
    metrics: {
      summary: "every metric that the orchestrator serves to Prometheus, with its unit and meaning",
      load: async () => (await import("./observe/telemetry/metrics_topic.ts")).topic,
    },
  },
};
