import { existsSync, realpathSync, rmSync } from 'node:fs';
import type { Clock } from '../../../domain/clock.ts';
import { type KeyPenalty, noPenalty, type Usage } from '../../../domain/limit.ts';
import { openDatabase } from '../database.ts';
import type { StoreFiles } from '../files.ts';
import { formerLimitFormat } from '../migrations.ts';

/** The limit state that a version before the mapped file left, by ids. Its instants were dates. */
export interface FormerLimits {
  readonly usage: readonly (readonly [number, Usage])[];
  readonly penalties: readonly (readonly [number, KeyPenalty])[];
}

interface UsageRow {
  accountId: bigint;
  minuteOpened: bigint;
  minuteCount: bigint;
  dayOpened: bigint;
  dayCount: bigint;
}

interface PenaltyRow {
  keyId: bigint;
  strikes: string;
  bannedUntil: bigint;
  banLevel: bigint;
}

/** The file of an older version that there is, if any. */
export function formerFile({ formerLimits }: StoreFiles): string | undefined {
  return formerLimits.find((path) => existsSync(path));
}

/** Throws `StorageUnusable`. */
export function readFormer(path: string, clock: Clock): FormerLimits {
  clock.steady();
  const ahead = clock.aheadSeconds;
  const lock = () => ({ [Symbol.dispose]: () => undefined });
  using database = openDatabase({ path, format: formerLimitFormat, create: true, busyTimeoutMs: 0, lock });
  const usage = database.query<UsageRow, []>(
    `SELECT account_id AS accountId, minute_opened AS minuteOpened, minute_count AS minuteCount,
            day_opened AS dayOpened, day_count AS dayCount FROM usage`,
  );
  const penalties = database.query<PenaltyRow, []>(
    'SELECT key_id AS keyId, strikes, banned_until AS bannedUntil, ban_level AS banLevel FROM conduct',
  );
  return {
    usage: usage.all().map(({ accountId, minuteOpened, minuteCount, dayOpened, dayCount }) => [
      Number(accountId),
      {
        minute: { openedAt: Number(minuteOpened) - ahead, count: Number(minuteCount) },
        day: { openedAt: Number(dayOpened) - ahead, count: Number(dayCount) },
      },
    ]),
    penalties: penalties.all().map(({ keyId, strikes, bannedUntil, banLevel }) => [
      Number(keyId),
      {
        ...noPenalty,
        strikes: (JSON.parse(strikes) as number[]).map((at) => at - ahead * 1_000),
        bannedUntil: Number(bannedUntil) - ahead,
        banLevel: Number(banLevel),
      },
    ]),
  };
}

/** Removes what was taken over; a file that two stores shared stays, for the other one. */
export function removeFormer({ data, formerLimits }: StoreFiles): void {
  for (const former of formerLimits) {
    const name = former.replace(/[.-]limits\.db$/, '');
    const stores = [name, `${name}.db`].filter((path) => existsSync(path));
    if (stores.some((path) => realpathSync(path) !== data) || !existsSync(former)) continue;
    for (const suffix of ['-wal', '-shm', '']) rmSync(former + suffix, { force: true });
  }
}
