/** The embedded chain in process keeps the promises of every `Chain`. */

import { LocalChain } from "../../chain/local/local_chain.ts";
import { chainSuite } from "./chain_suite.ts";

chainSuite("local", (ledger, netuid) => Promise.resolve(new LocalChain({ ledger, netuid })));
