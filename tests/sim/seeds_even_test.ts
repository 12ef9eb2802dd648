/** Half of the big simulations' seeds; the other half runs beside it. */

import { testSeeds } from "../support/swarm/sim_seeds.ts";

testSeeds({ part: 0, parts: 2 });
