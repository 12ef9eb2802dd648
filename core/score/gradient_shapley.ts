/**
 * What each payload of a merge is worth, without evaluating any: its part of the fall of the held-out loss, to first order.
 *
 *     v(S) = L(theta) - L(theta - mean of all s_i in S)          phi_i ~ < g, s_i > / n
 *
 * s_i: pseudo-gradients; g: the gradient of the held-out loss. A first order's Shapley values are its terms. With g as the mean
 * of the gradients at the start and at the merged parameters (trapezoidal rule) the second order is right for the sum as well.
 * One backward pass values all payloads of a stage. Data Shapley: Ghorbani & Zou (arXiv 1904.02868); in this first-order form:
 * Wang et al. (arXiv 2406.11011).
 */

import { assert } from "../assert.ts";

/** phi of each payload, in the loss's unit. `gradients`: of the held-out loss, at the start or at start and end. */
export function gradientShapley(
  { gradients, payloads }: { gradients: readonly Float32Array[]; payloads: readonly Float32Array[] },
): number[] {
  return payloads.map((payload) => {
    let product = 0;
    for (const gradient of gradients) {
      assert(gradient.length === payload.length, "A payload must have the gradient's length");
      for (let i = 0; i < payload.length; i++) product += gradient[i]! * payload[i]!;
    }
    return product / (gradients.length * payloads.length);
  });
}
