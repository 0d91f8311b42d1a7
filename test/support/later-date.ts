/**
 * Preloaded before the service. Sets the process's clock ahead by DATE_AHEAD_MS, and makes it replace the clock of the
 * PostgreSQL server, which cannot be set ahead.
 */
import { ServerClock } from '../../src/storage/postgres/server-clock.ts';

const aheadMs = Number(process.env.DATE_AHEAD_MS ?? 0);
const { now } = Date;
Date.now = () => now() + aheadMs;
Object.defineProperty(ServerClock.prototype, 'rules', { value: true });
