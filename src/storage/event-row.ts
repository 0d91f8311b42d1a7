/** Maximum number of events removed per transaction. */
export const eventPruneBatch = 1_000;
