import { join } from 'node:path';
import { openStore as openOf } from '../../src/app/store.ts';
import type { Caller } from '../../src/domain/caller.ts';
import type { Clock } from '../../src/domain/clock.ts';
import type { Quota } from '../../src/domain/plan.ts';
import type { Limits } from '../../src/limits/file/limits.ts';
import { openLimits } from '../../src/limits/file/open-limits.ts';
import type { LimitRules } from '../../src/limits/limit.ts';
import type { Store } from '../../src/operations/units.ts';
import { resolveStoreFiles } from '../../src/store-files/files.ts';
import { strictRules } from './place.ts';
import { callerWith } from './samples.ts';

export const dataFile = (folder: string) => join(folder, 'store.db');
export const limitFile = (folder: string) => join(folder, 'store.limits');

export function openStore(folder: string, clock: Clock): Promise<Store> {
  const url = `sqlite:${dataFile(folder)}`;
  return openOf({ url, clock, rules: strictRules, isServing: true, notice: () => {} });
}

export interface Opened extends AsyncDisposable {
  readonly limits: Limits;
  readonly notices: string[];
}

/** Opens only the limit state, as the service does. */
export function openAlone(folder: string, clock: Clock, rules: LimitRules = strictRules): Opened {
  const notices: string[] = [];
  const limits = openLimits({
    files: resolveStoreFiles(dataFile(folder)),
    role: 'serving',
    clock,
    rules,
    notice: (text) => notices.push(text),
  });
  return { limits, notices, [Symbol.asyncDispose]: () => limits.close() };
}

export function callerOf(quota: Quota, accountId = 1): Caller {
  return callerWith({ keyId: accountId, accountId, plan: 'enterprise', quota });
}
