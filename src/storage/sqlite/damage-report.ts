import type { DataDamagedError } from '../../outages/errors.ts';
import type { Notify } from '../../outages/outage.ts';

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
    const reason = (damage.cause as Error).message;
    this.#notice(`degraded: ${reason}`, { part: 'data file', works: false });
  };

  /** Returns a function that passes on the writer's notices, and remembers if one of them reports damage. */
  watching(notice: Notify): Notify {
    return (text, outage) => {
      if (/ is damaged \(SQLITE_/.test(text)) this.isFound = true;
      notice(text, outage);
    };
  }
}
