/** Names of errors that newer runtimes have, and which of all names belong to calls that iota does not send. */

/** The subnet pallet's errors since those of the embedded chain's surface, up to spec 475. */
export const laterErrors = [
  ...["NewHotKeyNotCleanForRootSwap", "StakeUnavailable", "KeepStakeBlockedByCollateral"],
  ...["InsufficientTaoBalance", "InvalidRevealRound", "EvmKeyAssociationLimitExceeded"],
  ...["SubnetBuybackRateLimitExceeded", "NetworkDissolveAlreadyQueued", "RegistrationPriceLimitExceeded"],
  ...["LockHotkeyMismatch", "InsufficientStakeForLock", "NoExistingLock", "ActiveLockExists"],
  ...["CannotUseSystemAccount", "UnlockAmountTooHigh", "WaitingForDissolvedSubnetCleanup"],
  ...["TempoOutOfBounds", "ActivityCutoffFactorMilliOutOfBounds", "EpochTriggerAlreadyPending"],
  ...["AutoEpochAlreadyImminent", "DynamicTempoBlockedByCommitReveal", "AccountRejectsLockedAlpha"],
  ...["LockIdOverFlow", "StartCallNotReady", "InsufficientAlphaBalance", "ColdkeyCollateralIncomplete"],
  ...["ColdkeyCollateralPositionsFull", "BasketHasNoWeights", "RootStakeLocked"],
  ...["BetaBasketSeedInProgress", "RootWeightSettingDisabled", "RootClaimTooHeavy"],
  ...["RootWeightCapExceeded", "BasketDepositPending", "InvalidBatchLength", "TooManyStakingHotkeys"],
  ...["ColdkeySwapTooHeavy", "BasketConcentrationCapExceeded", "BasketTurnoverBudgetExceeded"],
  ...["BasketLiquidityCapExceeded", "BasketMinOutNotMet", "BasketSwapBatchEmpty", "CommitPayloadTooLarge"],
  ...["CommitQueueFull"],
];

/** Errors of the pallet that pools with prices use. */
export const swapErrors = ["PriceLimitExceeded", "ReservesTooLow", "InsufficientInputAmount"];

/** Errors of calls that iota does not send. Every other one has a sentence. */
export const otherCalls = [
  ...["AccountRejectsLockedAlpha", "ActiveLockExists", "ActivityCutoffFactorMilliOutOfBounds"],
  ...["ActivityCutoffTooLow", "AddStakeBurnRateLimitExceeded", "AlphaHighTooLow", "AlphaLowOutOfRange"],
  ...["AnnouncedColdkeyHashDoesNotMatch", "AutoEpochAlreadyImminent", "BasketConcentrationCapExceeded"],
  ...["BasketHasNoWeights", "BasketLiquidityCapExceeded", "BasketMinOutNotMet", "BasketSwapBatchEmpty"],
  ...["BasketTurnoverBudgetExceeded", "BeneficiaryDoesNotOwnHotkey", "CannotBurnOrRecycleOnRootSubnet"],
  ...["ChildParentInconsistency", "ColdKeyAlreadyAssociated", "ColdkeyCollateralIncomplete"],
  ...["ColdkeySwapAlreadyDisputed", "ColdkeySwapAnnouncementNotFound", "ColdkeySwapClearTooEarly"],
  ...["ColdkeySwapReannouncedTooEarly", "ColdkeySwapTooEarly", "ColdkeySwapTooHeavy"],
  ...["DelegateTxRateLimitExceeded", "DuplicateChild", "DynamicTempoBlockedByCommitReveal"],
  ...["EpochTriggerAlreadyPending", "EvmKeyAssociationLimitExceeded", "ExpectedBeneficiaryOrigin"],
  ...["FaucetDisabled", "FirstEmissionBlockNumberAlreadySet", "HotKeyAlreadyDelegate"],
  ...["HotKeySetTxRateLimitExceeded", "HotKeySwapOnSubnetIntervalNotPassed", "InsufficientStakeForLock"],
  ...["InvalidBatchLength", "InvalidChild", "InvalidChildkeyTake", "InvalidDifficulty", "InvalidIdentity"],
  ...["InvalidLeaseBeneficiary", "InvalidNumRootClaim", "InvalidRecoveredPublicKey"],
  ...["InvalidRootClaimThreshold", "InvalidSeal", "InvalidSubnetNumber", "InvalidValue"],
  ...["InvalidVotingPowerEmaAlpha", "InvalidWorkBlock", "KeepStakeBlockedByCollateral"],
  ...["LeaseCannotEndInThePast", "LeaseDoesNotExist", "LeaseHasNoEndBlock", "LeaseHasNotEnded"],
  ...["LeaseNetuidNotFound", "LiquidAlphaDisabled", "LockHotkeyMismatch"],
  ...["NeedWaitingMoreBlocksToStarCall", "NetworkDissolveAlreadyQueued", "NewColdKeyIsHotkey"],
  ...["NewHotKeyIsSameWithOld", "NewHotKeyNotCleanForRootSwap", "NoExistingLock"],
  ...["NotEnoughAlphaOutToRecycle", "NotEnoughBalanceToPaySwapColdKey", "NotEnoughBalanceToPaySwapHotKey"],
  ...["NotEnoughStakeToSetChildkeys", "NotRootSubnet", "NotSubnetOwner", "ProportionOverflow"],
  ...["RevealPeriodTooLarge", "RevealPeriodTooSmall", "RootClaimTooHeavy", "RootWeightCapExceeded"],
  ...["RootWeightSettingDisabled", "SameAutoStakeHotkeyAlreadySet", "SameNetuid", "StartCallNotReady"],
  ...["SubnetBuybackRateLimitExceeded", "SymbolAlreadyInUse", "SymbolDoesNotExist", "TempoOutOfBounds"],
  ...["TooManyChildren", "TooManyUIDsPerMechanism", "TrimmingWouldExceedMaxImmunePercentage"],
  ...["TxChildkeyTakeRateLimitExceeded", "UidMapCouldNotBeCleared", "UnableToRecoverPublicKey"],
  ...["UnlockAmountTooHigh", "VotingPowerTrackingNotEnabled"],
];
