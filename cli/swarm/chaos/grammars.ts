/** The grammars of `--chaos` and `--links`. Light, because every help loads it. */

export const chaosGrammar =
  "ACTION TIME; …: kill-miner [I], stop-miner [I], pause-miner [I] for S seconds, add-miner, " +
  "kill-validator [I] or kill-orchestrator; at step N, every N steps, at round N, after merge N, in merge N or every N rounds";

export const linksGrammar =
  '"DELAYms [RATE(kbit|mbit|gbit)] [jitter MSms] [reset LIFE(s|min)]", for example "40ms 20mbit"; ' +
  "numbers have at most 6 digits and 3 decimals, rates and lives are above 0";
