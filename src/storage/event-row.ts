/** Most events that a transaction removes. */
export const eventsPrunedAtOnce = 1_000;
