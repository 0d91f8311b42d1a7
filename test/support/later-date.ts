/** Preloaded before the service. Sets the process's clock ahead by DATE_AHEAD_MS. */
const aheadMs = Number(process.env.DATE_AHEAD_MS ?? 0);
const { now } = Date;
Date.now = () => now() + aheadMs;
