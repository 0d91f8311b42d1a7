/** Encrypts webhook secrets with the first key in SECRETS_KEY, and reports secrets that no key can decrypt. */
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Concern } from '../contract/admin/system.ts';
import type { Store } from '../operations/units.ts';
import {
  type ReencryptionReport,
  type ReencryptSecret,
  reencryptSecrets,
} from '../operations/webhook-secrets.ts';
import { PeriodicTask } from '../outages/periodic-task.ts';

/** The check is repeated because other instances may have different keys. */
const checkIntervalMs = 600_000;

interface ReencryptionDependencies {
  readonly store: Pick<Store, 'webhooks' | 'write'>;
  readonly reencryptSecret: ReencryptSecret;
  readonly log: Logger;
}

interface SecretReencryption extends AsyncDisposable {
  /** Warning if requests to some webhooks cannot be signed; otherwise undefined. */
  readonly concern: Concern | undefined;
}

/** Re-encrypts secrets immediately, then checks periodically. */
export function startReencryption(
  { webhooks: { secretsKeys } }: Pick<Config, 'webhooks'>,
  { store, reencryptSecret, log }: ReencryptionDependencies,
): SecretReencryption {
  const stopController = new AbortController();
  let known: ReencryptionReport | undefined;
  const check = async () => {
    const report = await reencryptSecrets(store, reencryptSecret, stopController.signal);
    logReport(log, secretsKeys.length, report, known);
    known = report;
  };
  // The store has already logged the error, and the check runs again later.
  const first = check().catch(() => undefined);
  const schedule = new PeriodicTask(checkIntervalMs, check);
  return {
    get concern() {
      return known && secretsConcern(secretsKeys.length, known.unreadable);
    },
    [Symbol.asyncDispose]: async () => {
      stopController.abort();
      await first;
      await schedule[Symbol.asyncDispose]();
    },
  };
}

function logReport(
  log: Logger,
  keys: number,
  { all, resealed, unreadable }: ReencryptionReport,
  before?: ReencryptionReport,
): void {
  const isFirst = before === undefined;
  if (unreadable !== (before?.unreadable ?? 0)) {
    if (unreadable === 0) log.info('the secrets of all webhooks can be decrypted again');
    else
      log.error(
        { webhooks: unreadable },
        `requests to some webhooks cannot be signed: ${unreadableReason(keys)}; their deliveries are pending`,
      );
  }
  if (keys === 0 && isFirst && all > unreadable)
    log.warn('webhook secrets are stored unencrypted: set SECRETS_KEY to encrypt them');
  if (resealed > 0)
    log.info({ webhooks: resealed }, 'encrypted webhook secrets with the first key of SECRETS_KEY');
  if (keys > 1 && unreadable === 0 && (isFirst || resealed > 0))
    log.info(
      'no webhook needs the second key of SECRETS_KEY: if it is the old key, remove it a day after all instances were started with the first one',
    );
}

function unreadableReason(keys: number): string {
  return keys === 0
    ? 'their secrets are encrypted, and SECRETS_KEY is not set'
    : 'SECRETS_KEY does not include the key used to encrypt their secrets';
}

/** `unreadable` is the number of webhooks whose secrets cannot be decrypted with any configured key. */
export function secretsConcern(keys: number, unreadable: number): Concern | undefined {
  if (unreadable === 0) return undefined;
  const webhooks = unreadable === 1 ? '1 webhook' : `${unreadable} webhooks`;
  return {
    what: `Requests to ${webhooks} cannot be signed, because ${unreadableReason(keys)}.`,
    remedy:
      'Set SECRETS_KEY to the missing key, alone or after the new key, and restart. If the missing key is lost, accounts must rotate their webhook secrets.',
  };
}
