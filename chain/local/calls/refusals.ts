/**
 * The chain's refusals in words: for each name what it means, what to do, and whether trying again can help.
 *
 * Owns the sentences of every error this chain gives. Names are the runtime's; the pool's custom codes are named `Custom(12)`.
 */

import type { Refusal } from "../../chain.ts";
import { type CallError, customCodeOf } from "./call_error.ts";

type Words = readonly [sentence: string, action: string, retry: Refusal["retry"]];

const fix = "Correct the call";
const words: Readonly<Record<CallError, Words>> = {
  FundsUnavailable: ["The account has not that much to spend", "Send it tokens, or ask for less", "never"],
  BelowMinimum: ["The receiver would hold less than an account must", "Send at least 500 rao", "never"],
  SubnetNotExists: ["There is no such subnet", "Check the netuid", "never"],
  MechanismDoesNotExist: ["There is no such subnet or mechanism", "Check netuid and mechanism", "never"],
  RegistrationNotPermittedOnRootSubnet: ["Subnet 0 takes no registrations of this kind", "Check the netuid", "never"],
  SubNetRegistrationDisabled: ["The subnet takes no registrations", "Wait until its owner opens it", "nextBlock"],
  HotKeyAlreadyRegisteredInSubNet: ["The hotkey is registered already", "Go on with the uid it has", "never"],
  NotEnoughBalanceToStake: ["The coldkey cannot pay for this", "Send it tokens", "never"],
  NonAssociatedColdKey: ["The hotkey belongs to another coldkey", "Use its own coldkey, or another hotkey", "never"],
  NoNeuronIdAvailable: [
    "The subnet is full and all its neurons are protected",
    "Wait for one to lose its immunity",
    "nextBlock",
  ],
  NetworkTxRateLimitExceeded: ["A subnet was founded too recently", "Wait for the rate limit", "afterRateLimit"],
  SubnetLimitReached: ["The chain takes no more subnets", "Use an existing one", "never"],
  CannotAffordLockCost: [
    "The coldkey cannot pay what a subnet costs",
    "Send it tokens, or wait until it costs less",
    "never",
  ],
  AmountTooLow: ["The amount is below the smallest stake", "Use at least 2,000,000 rao", "never"],
  HotKeyAccountNotExists: ["The chain has not met this hotkey", "Register it first", "never"],
  NotEnoughStakeToWithdraw: ["There is not that much stake", "Ask for less", "never"],
  HotKeyNotRegisteredInNetwork: ["The hotkey is not registered in this subnet", "Register it first", "never"],
  InvalidIpType: ["The address is neither IPv4 nor IPv6", fix, "never"],
  InvalidIpAddress: ["The address can be reached by nobody else", "Give the public address of this machine", "never"],
  ServingRateLimitExceeded: ["The axon was announced too recently", "Wait for the rate limit", "afterRateLimit"],
  InvalidPort: ["Port 0 is no port", fix, "never"],
  CanNotSetRootNetworkWeights: ["Subnet 0 has no weights of this kind", "Check the netuid", "never"],
  CommitRevealEnabled: [
    "The subnet wants weights committed first",
    "Read the subnet's parameters, then commit",
    "nextBlock",
  ],
  CommitRevealDisabled: [
    "The subnet takes weights directly",
    "Read the subnet's parameters, then set them",
    "nextBlock",
  ],
  WeightVecNotEqualSize: ["There are not as many values as uids", fix, "never"],
  UidsLengthExceedUidsInSubNet: ["There are more weights than neurons", "Read the metagraph again", "nextBlock"],
  HotKeyNotRegisteredInSubNet: ["The hotkey is not registered in this subnet", "Register it first", "never"],
  NotEnoughStakeToSetWeights: ["The hotkey's stake is below the chain's threshold", "Add stake", "never"],
  IncorrectWeightVersionKey: ["The subnet wants a newer version of the program", "Update iota", "afterUpgrade"],
  SettingWeightsTooFast: ["Weights were set too recently", "Wait for the rate limit", "afterRateLimit"],
  CommittingWeightsTooFast: ["Weights were committed too recently", "Wait for the rate limit", "afterRateLimit"],
  NeuronNoValidatorPermit: [
    "The neuron has no validator permit",
    "Add stake; permits are given by the next epoch",
    "afterEpoch",
  ],
  DuplicateUids: ["A uid occurs twice", fix, "never"],
  UidVecContainInvalidOne: ["A uid is of no neuron", "Read the metagraph again", "nextBlock"],
  WeightVecLengthIsLow: ["There are fewer weights than the subnet asks for", "Give weight to more neurons", "never"],
  MaxWeightExceeded: ["One weight is above the subnet's limit", "Spread the weights", "never"],
  TooManyUnrevealedCommits: ["Ten commits wait to be revealed", "Reveal them, or wait for an epoch", "afterEpoch"],
  IncorrectCommitRevealVersion: ["The chain wants another version of commit-reveal", "Update iota", "afterUpgrade"],
  InvalidRevealRound: ["The reveal round is over", "Choose a round that is still to come", "nextBlock"],
  NoWeightsCommitFound: ["There is no commit to reveal", "Commit again", "never"],
  ExpiredWeightCommit: ["The commit was not revealed in time", "Commit again", "never"],
  RevealTooEarly: ["The commit cannot be revealed yet", "Wait for its epoch", "afterEpoch"],
  InvalidRevealCommitHashNotMatch: [
    "These are not the weights that were committed",
    "Reveal the same weights and salt",
    "never",
  ],
};

export function refusalOf(error: CallError): Refusal {
  const [sentence, action, retry] = words[error];
  return { name: error, sentence, action, retry };
}

/** A refusal by the pool. Several errors can have one code; the first names it. */
export function refusalOfCustom(custom: number): Refusal {
  const name = `Custom(${custom})`;
  const error = (Object.keys(words) as CallError[]).find((each) => customCodeOf(each) === custom);
  return error === undefined
    ? { name, sentence: "The call was refused before it reached a block", action: fix, retry: "never" }
    : { ...refusalOf(error), name };
}
