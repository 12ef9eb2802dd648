/**
 * The farthest that AdamW moves a value in a step, in learning rates, before weight decay.
 *
 * The step is m / sqrt(v) with m = (1 - b1) sum b1^i g_i and v = (1 - b2) sum b2^i g_i^2. By Cauchy and Schwarz it is
 * at most (1 - b1) / sqrt((1 - b2) (1 - b1^2 / b2)), and less in the first steps. If b1^2 is not below b2, it is
 * unbounded (Kingma and Ba, Adam, 2014, section 2.1).
 */

export function longestAdamStep({ beta1, beta2 }: { readonly beta1: number; readonly beta2: number }): number {
  const ratio = beta1 ** 2 / beta2;
  if (!(ratio < 1)) return Infinity; // also where beta2 is 0
  return (1 - beta1) / Math.sqrt((1 - beta2) * (1 - ratio));
}
