/** Events of a transaction's prune. */
export const eventsPrunedAtOnce = 1_000;
