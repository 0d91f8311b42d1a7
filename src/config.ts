/** The only module that reads the environment. */

import { checkCombinations } from './config/check-combinations.ts';
import { findResemblingVariables } from './config/misspellings.ts';
import { defaultAdminPort, maskPassword } from './config/parsers.ts';
import { settings, type SettingValues as Values } from './config/settings.ts';
import { dayMs } from './domain/clock.ts';

interface SettingView {
  readonly name: string;
  readonly value: string;
  readonly source: 'default' | 'environment';
  readonly about: string;
}

export type Config = ReturnType<typeof toConfig> & {
  readonly settings: readonly SettingView[];
  /** Sentences about variables that are probably misspelled settings. */
  readonly warnings: readonly string[];
};

export class ConfigError extends Error {
  readonly mistakes: readonly string[];
  constructor(mistakes: readonly string[]) {
    super(`Invalid ${mistakes.length === 1 ? 'setting' : 'settings'}:\n  ${mistakes.join('\n  ')}`);
    this.mistakes = mistakes;
  }
}

/**
 * Reads and checks every setting. Throws a `ConfigError` that lists every problem, including those in
 * `envFileMistakes`.
 */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
  envFileMistakes: readonly string[] = [],
): Config {
  const mistakes = [...envFileMistakes];
  const values: Record<string, unknown> = {};
  for (const [name, { default: defaultText, parse }] of Object.entries(settings)) {
    try {
      values[name] = parse(environment[name]?.trim() || defaultText);
    } catch (error) {
      mistakes.push(
        `${name} ${(error as Error).message} (got "${maskPassword(environment[name] ?? '', name)}").`,
      );
    }
  }
  mistakes.push(...checkCombinations(values as Partial<Values>, Boolean(environment.REDIS_URL?.trim())));
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return Object.freeze({
    ...toConfig(values as Values),
    settings: shownSettings(environment),
    warnings: findResemblingVariables(environment, Object.keys(settings)),
  });
}

function shownSettings(environment: Readonly<Record<string, string | undefined>>): SettingView[] {
  return Object.entries(settings).map(([name, { default: defaultText, about }]) => {
    const set = environment[name]?.trim();
    const source = set ? 'environment' : 'default';
    return { name, value: maskPassword(set || defaultText, name), source, about };
  });
}

/** Address of the admin API; undefined if it is off. */
function adminConfig({ PORT, ADMIN_HOST: host, ADMIN_PORT, ADMIN_ORIGIN: origin }: Values) {
  if (ADMIN_PORT === 'off') return undefined;
  const port = ADMIN_PORT ?? defaultAdminPort(PORT);
  return Object.freeze({ host, port, isPortSet: ADMIN_PORT !== undefined, origin });
}

/** Settings of the Redis and PostgreSQL servers that instances share; undefined if Redis is not used. */
function clusterConfig(values: Values) {
  if (values.REDIS_URL === undefined) return undefined;
  return Object.freeze({
    redisUrl: values.REDIS_URL,
    redisPrefix: values.REDIS_PREFIX,
    redisTimeoutMs: values.REDIS_TIMEOUT_MS,
    poolSize: values.POSTGRES_POOL_SIZE,
    statementTimeoutMs: values.POSTGRES_TIMEOUT_MS,
    replicaUrls: values.DATABASE_REPLICA_URLS,
  });
}

function toConfig(values: Values) {
  return Object.freeze({
    instanceName: values.INSTANCE_NAME,
    host: values.HOST,
    port: values.PORT,
    workers: values.WORKERS,
    admin: adminConfig(values),
    maxConnections: values.MAX_CONNECTIONS,
    idleTimeoutSeconds: values.IDLE_TIMEOUT_SECONDS,
    databaseUrl: values.DATABASE_URL,
    cluster: clusterConfig(values),
    publicUrl: values.PUBLIC_URL,
    stagingUrl: values.STAGING_URL,
    operatorUrl: values.OPERATOR_URL,
    operatorEmail: values.OPERATOR_EMAIL,
    trustedProxies: values.TRUSTED_PROXIES,
    corsOrigins: values.CORS_ORIGINS,
    getPetSunset: values.GET_PET_SUNSET,
    limits: Object.freeze({
      failuresPerMinute: values.AUTH_FAILURES_PER_MINUTE,
      ban: Object.freeze({
        strikes: values.BAN_STRIKES,
        withinSeconds: values.BAN_WITHIN_SECONDS,
        firstBanSeconds: values.BAN_FIRST_SECONDS,
        longestBanSeconds: values.BAN_LONGEST_SECONDS,
        forgivenAfterSeconds: values.BAN_FORGIVEN_AFTER_SECONDS,
      }),
    }),
    publicRequestsPerMinute: values.PUBLIC_REQUESTS_PER_MINUTE,
    backups: Object.freeze({
      folder: values.BACKUP_FOLDER,
      everyMs: values.BACKUP_EVERY,
      keep: values.BACKUP_KEEP,
    }),
    events: Object.freeze({ areRecorded: values.EVENTS === 'on', keepMs: values.EVENTS_KEEP_DAYS * dayMs }),
    webhooks: Object.freeze({
      areSent: values.WEBHOOKS === 'on',
      allowedNetworks: values.WEBHOOK_ALLOWED_NETWORKS,
      perSecond: values.WEBHOOK_DELIVERIES_PER_SECOND,
      secretsKeys: values.SECRETS_KEY,
    }),
    drainSeconds: values.DRAIN_SECONDS,
    logLevel: values.LOG_LEVEL,
    logRequests: values.LOG_REQUESTS,
    logSlowMs: values.LOG_SLOW_MS,
  });
}
