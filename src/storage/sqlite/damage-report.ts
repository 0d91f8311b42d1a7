import type { DataDamagedError } from '../../outages/errors.ts';
import { describeError, type Notify } from '../../outages/outage.ts';

const reportsDamage = (error: unknown) => / is damaged \(SQLITE_/.test(describeError(error));

/** Remembers whether the data file was found damaged, and reports that once. Damage lasts until the process ends. */
export class DamageReport {
  isFound = false;
  readonly #notice: Notify;

  constructor(notice: Notify) {
    this.#notice = notice;
  }

  readonly report = (damage: DataDamagedError): void => {
    if (this.isFound) return;
    this.isFound = true;
    this.#notice(`degraded: ${describeError(damage)}`, {
      part: 'data file',
      works: false,
      failsRequests: reportsDamage,
    });
  };
}
