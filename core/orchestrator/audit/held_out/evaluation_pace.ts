/**
 * Which rounds' parameters validators evaluate on held-out text.
 *
 * Evaluations take a share of all computing (`validate.evaluationShare`), so rounds that are short for it are not all evaluated:
 * the first and the last ones are, every eighth, all until one was found good, and whichever training finds much worse than the round before
 * it or the last good one, or impossible to compute with. That costs nothing to see, and a merge that did harm is found as soon
 * as if every round were evaluated. The round before it is evaluated as well then, as it is kept until training has tested its
 * successor: if it is no worse than the last good one, a run that must go back loses one round. Out of scope: how the run decides among
 * answers (evaluations.ts), and what they mean for it (evaluated_rounds.ts).
 */

import { evaluationShareDefault } from "../../../config/knobs.ts";
import type { OrchestratorState } from "../../state.ts";
import { addFirst, addRequest } from "../audit_queue.ts";
import { evaluationOf } from "../audit_state.ts";
import { isAudited } from "../validator_places.ts";
import { isLikeGood, isWorse } from "./evaluated_rounds.ts";
import { isBeingEvaluated, wanted } from "./evaluations.ts";

/** The round's parameters can be fetched now. */
export function evaluatePublished(state: OrchestratorState, round: number): void {
  if (!isAudited(state)) return;
  const isUrgent = state.phase === "closing" || state.step >= state.config.train.steps || isWorse(state);
  if (isUrgent || isDue(state) || lacksGood(state)) ask(state, { round, isUrgent });
}

/** After the open round's first step, and when nobody can compute with its parameters. They may have yet to be published. */
export function evaluateIfWorse(state: OrchestratorState): void {
  const { round, sources } = state;
  if (sources.round === round && isAudited(state) && isWorse(state)) ask(state, { round, isUrgent: true });
}

/** No round to go back to is known, as the first evaluation may have found nobody, or the run has gone back to the last one. */
const lacksGood = ({ good, validators }: OrchestratorState): boolean =>
  good === null ? validators.size > 0 : good.isRetaken;

/** Each round once. An urgent one waits behind nothing. */
function ask(state: OrchestratorState, { round, isUrgent }: { round: number; isUrgent: boolean }): void {
  const { audit } = state;
  if (audit.evaluated.round === round) return;
  audit.evaluated = { round, step: state.step };
  if (isUrgent && isWorse(state) && mayGoBackTo(state, round - 1)) addFirst(audit, evaluationOf(round - 1));
  if (isUrgent) addFirst(audit, evaluationOf(round)); // before the older one: without a jump nobody goes back
  else addRequest(audit, evaluationOf(round));
}

/** A round that would be gone back to, and that nobody is evaluating. One validator sends no run back. */
const mayGoBackTo = (state: OrchestratorState, round: number): boolean =>
  state.validators.size > 1 && isLikeGood(state, round) &&
  state.retired.some((sources) => sources.round === round) && !isBeingEvaluated(state, round);

const mostRounds = 8; // without an evaluation: a run that must go back goes to the last round that was found good

/**
 * Whether the miners have computed enough since the last evaluation, or rounds have been many. Both sides are counted in forwards of the whole model over a
 * microbatch, of which a microbatch of training is worth three.
 */
function isDue({ audit, round, step, validators, config: { train, validate } }: OrchestratorState): boolean {
  const share = validate.evaluationShare ?? evaluationShareDefault;
  if (share > 0 && round - audit.evaluated.round >= mostRounds) return true;
  const trained = 3 * train.microbatchesPerStep * Math.abs(step - audit.evaluated.step); // the run may have gone back
  const answers = Math.min(wanted, Math.max(1, validators.size));
  return share * trained >= answers * Math.ceil(validate.heldOutSequences / train.sequencesPerMicrobatch);
}
