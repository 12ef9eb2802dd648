/** The work is in cli/orchestrator/run/run_orchestrator.ts. */

import type { Command } from "../terminal/command.ts";
import { hubOptions } from "../terminal/options/hub_options.ts";
import { fromOption, runOptions } from "../terminal/options/run_options.ts";

export const command: Command = {
  name: "orchestrate",
  summary: "lead a run: hand out tasks, merge the miners' work, keep checkpoints",
  usage: "orchestrate [--config run.toml] [options]",
  about:
    "The orchestrator computes nothing of the model: it hands out tasks, closes steps and rounds, and keeps every wire until its step is closed, so that others go on when a miner dies. Miners and validators dial in. The run begins when every stage has its miners, and a further miner joins the stage that needs it most. A round that loses the work of a stage is repeated; two such rounds in a row halt the run, which says why. If the loss on held-out text jumps, the run returns to its last good round. After damage to its files it goes back to the newest whole checkpoint and says so. Ctrl-C stops the orchestrator, not the run: the nodes wait, and the same command resumes at the same step. In a terminal, ? lists its screen's keys, and the page of a finished run stays up until Enter, or 10 minutes without a viewer. Ctrl-C exits with 1, SIGTERM with 0. " +
    "In a folder that holds a run it resumes that run; in any other it begins one. Without --data the folder has the run's name. Rates, steps and limits may change between starts; any other change is refused by name.",
  examples: [
    "iota orchestrate --config run.toml",
    "iota orchestrate --size tiny --replicas 2 --port 9009",
    "iota orchestrate --data runs/first --set train.learningRate=1e-3",
    "iota orchestrate --config run.toml --from models/llama-1b",
  ],
  recipes: [
    {
      title: "Other machines join with the line that it prints",
      lines: [
        "iota orchestrate --config run.toml --host 0.0.0.0",
        "",
        "[hub]                # the orchestrator in run.toml; config init lists more",
        'host = "0.0.0.0"',
      ],
    },
    {
      title: "A run that goes on training a model: its shape and tokenizer come with it",
      lines: [
        "iota orchestrate --from models/llama-1b --data runs/more --corpus book.txt",
        "iota orchestrate --from runs/first --data runs/second --codec none",
        "# A codec that the model did not train with begins random. A model that leaves",
        "# its codec forgets: tiny fell from 3.24 nats to 4.51 after training on with",
        "# a tenth of its tokens, and to 3.53 with three tenths.",
        "# A tied head is copied: embedding and head are in different stages, and train",
        "# apart.",
      ],
    },
    {
      title: "A run on a subnet, which pays its miners: in run.toml (see also iota help chain)",
      lines: [
        "[chain]",
        'network = "finney"        # or test, local, wss://…; "none": no chain',
        "netuid = 9",
        'admission = "registered"  # or "anyone"',
      ],
    },
    {
      title: "Programs and Prometheus read the dashboard's port",
      lines: [
        "curl -s http://127.0.0.1:9009/api/v1/run",
        "curl -s http://127.0.0.1:9009/metrics    # see iota help metrics",
      ],
    },
    {
      title: "TLS with your own certificate, for the address 192.168.1.5",
      lines: [
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \\",
        "  -days 3650 -subj /CN=iota -keyout key.pem -out cert.pem \\",
        "  -addext basicConstraints=critical,CA:FALSE \\",
        "  -addext subjectAltName=IP:192.168.1.5",
        "iota orchestrate --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem",
        "iota miner --orchestrator wss://192.168.1.5:9009 --tls-ca cert.pem",
      ],
    },
    {
      title: "TLS with a proxy: Caddy gets and renews the certificate for run.example",
      lines: [
        "caddy reverse-proxy --from run.example --to 127.0.0.1:9009",
        "iota orchestrate --config run.toml --public-address wss://run.example",
      ],
    },
    {
      title: "The same with nginx, inside its server { listen 443 ssl; … }",
      lines: [
        "location / {",
        "  proxy_pass http://127.0.0.1:9009;",
        "  proxy_http_version 1.1;",
        "  proxy_set_header Upgrade $http_upgrade;",
        "  proxy_set_header Connection upgrade;",
        "  proxy_request_buffering off;",
        "  proxy_read_timeout 1h;",
        "  client_max_body_size 0;",
        "}",
      ],
    },
  ],
  options: [...runOptions, fromOption, ...hubOptions],
  configures: "run",
  takesHubTable: true,
  rights: {
    read: ["data", "hotkeys", "corpus", "--from", "log", "--tls-cert", "--tls-key"],
    write: ["data", "hotkeys", "log"],
    net: "any",
    sys: ["networkInterfaces"],
  },
  async run(context) {
    const { mustHaveSoundHub } = await import("../orchestrator/run/hub_file_check.ts");
    await mustHaveSoundHub(context);
    const { runOrchestrator } = await import("../orchestrator/run/run_orchestrator.ts");
    return await runOrchestrator(context);
  },
};
