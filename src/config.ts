/** The only reader of the environment. Every setting is a row of the table; `docs/operating.md` is held to it. */

import { adminMistakes, adminOrigin, adminPort, nextPort } from './config/admin.ts';
import { backupMistakes, banMistakes, storeMistakes } from './config/combinations.ts';
import { envFileMistakes } from './config/env-files.ts';
import { type ShownSetting, shownSettings } from './config/shown.ts';
import {
  databaseUrl,
  emailAddress,
  instanceName,
  instant,
  integer,
  interval,
  loggedRequests,
  logLevels,
  networks,
  oneOf,
  optional,
  origins,
  type Parse,
  publicUrl,
  redisUrl,
  shown,
  text,
  webAddress,
  workers,
} from './config/values.ts';
import { operations } from './contract/operations.ts';
import { defaultBanRules } from './domain/limit.ts';

interface Setting<T> {
  readonly default: string;
  readonly about: string;
  readonly parse: Parse<T>;
}

function setting<T>(defaultText: string, about: string, parse: Parse<T>): Setting<T> {
  return { default: defaultText, about, parse };
}

const year = 31_536_000;

export const settings = {
  HOST: setting('127.0.0.1', 'Address to listen on. Use 0.0.0.0 or :: for all addresses.', text),
  PORT: setting('3000', 'Port to listen on. 0 picks a free port.', integer(0, 65_535)),
  WORKERS: setting(
    '1',
    'Processes that serve requests, or auto for one per available CPU core. More than 1 on Linux only.',
    workers,
  ),
  MAX_CONNECTIONS: setting(
    '0',
    'Maximum open client connections. 0: three quarters of the free file descriptors, at most 10000.',
    integer(0, 1_000_000),
  ),
  ADMIN_HOST: setting(
    '127.0.0.1',
    'Address that the admin API and the console listen on. Any but this machine itself requires ADMIN_ORIGIN.',
    text,
  ),
  ADMIN_PORT: setting(
    '',
    'Port of the admin API and the console, or off. Unless set, the one after PORT, if it is free.',
    adminPort,
  ),
  ADMIN_ORIGIN: setting(
    '',
    'https address that operators use, such as https://admin.example.com, served by a proxy with TLS.',
    adminOrigin,
  ),
  INSTANCE_NAME: setting(
    '',
    'Name of this instance in the list of all; unless set, the name of the machine and the port.',
    instanceName,
  ),
  IDLE_TIMEOUT_SECONDS: setting(
    '75',
    'Seconds after which an idle connection is closed. Longer than proxies keep theirs, or they get closed ones.',
    integer(1, 255),
  ),
  DATABASE_URL: setting(
    'sqlite:./data/animal-store.db',
    'Database: sqlite:PATH (created by serve and import if missing), or postgres://… for several instances.',
    databaseUrl,
  ),
  REDIS_URL: setting(
    '',
    'Redis 7 or Valkey, redis://… or rediss://…, for shared limits. Required with PostgreSQL.',
    redisUrl,
  ),
  REDIS_PREFIX: setting('as:', 'Prefix of every Redis key. Must be the same on all instances.', text),
  REDIS_TIMEOUT_MS: setting(
    '50',
    'Redis timeout in milliseconds. After it, the instance enforces limits on its own.',
    integer(5, 60_000),
  ),
  POSTGRES_POOL_SIZE: setting('10', 'Maximum PostgreSQL connections per instance.', integer(1, 1_000)),
  POSTGRES_TIMEOUT_MS: setting(
    '2000',
    'PostgreSQL statement timeout in milliseconds, including the wait for a connection. Then 503.',
    integer(100, 600_000),
  ),
  PUBLIC_URL: setting(
    '',
    'URL that clients use, without /v1, for absolute links and as the production server in the OpenAPI document.',
    publicUrl,
  ),
  OPERATOR_URL: setting(
    '',
    'Page where clients reach you. Listed as the contact in the OpenAPI document.',
    webAddress,
  ),
  OPERATOR_EMAIL: setting(
    '',
    'Email address where clients reach you. Listed as the contact in the OpenAPI document.',
    emailAddress,
  ),
  STAGING_URL: setting('', 'URL of a staging service, listed in the OpenAPI document.', publicUrl),
  TRUSTED_PROXIES: setting(
    '',
    'IP addresses or CIDR networks of proxies whose X-Forwarded-For is trusted, separated by commas.',
    networks,
  ),
  CORS_ORIGINS: setting('', 'Origins allowed to call the API from browsers, separated by commas.', origins),
  GET_PET_SUNSET: setting(
    (operations.getPet.deprecation?.sunset ?? new Date(0)).toISOString(),
    'When the deprecated getPet is removed and returns 410 (ISO 8601).',
    instant,
  ),
  AUTH_FAILURES_PER_MINUTE: setting(
    '600',
    'Failed authentications per minute and client address (IPv4, or IPv6 /64), before 429.',
    integer(1, 1_000_000_000),
  ),
  PUBLIC_REQUESTS_PER_MINUTE: setting(
    '600',
    'Requests outside /v1 per minute and client address, except health checks, before 429.',
    integer(1, 1_000_000_000),
  ),
  BAN_STRIKES: setting(
    String(defaultBanRules.strikes),
    'Strikes (requests sent before Retry-After has passed) that ban a key; at most 1000.',
    integer(1, 1_000),
  ),
  BAN_WITHIN_SECONDS: setting(
    String(defaultBanRules.withinSeconds),
    'Period in seconds in which strikes are counted.',
    integer(1, year),
  ),
  BAN_FIRST_SECONDS: setting(
    String(defaultBanRules.firstBanSeconds),
    'Length of the first ban in seconds. Each further ban lasts twice as long.',
    integer(1, year),
  ),
  BAN_LONGEST_SECONDS: setting(
    String(defaultBanRules.longestBanSeconds),
    'Maximum length of a ban in seconds.',
    integer(1, year),
  ),
  BAN_FORGIVEN_AFTER_SECONDS: setting(
    String(defaultBanRules.forgivenAfterSeconds),
    'Seconds without a ban after which the next ban is BAN_FIRST_SECONDS long again.',
    integer(1, year),
  ),
  BACKUP_FOLDER: setting(
    '',
    'Folder for backups that the service makes of an embedded store. Created if missing.',
    optional,
  ),
  BACKUP_EVERY: setting(
    '',
    'How often the service makes a backup, such as 24h. Requires BACKUP_FOLDER. Unset: on request only.',
    interval,
  ),
  BACKUP_KEEP: setting(
    '14',
    'How many of these backups are kept. Those made by hand are always kept.',
    integer(1, 100_000),
  ),
  DRAIN_SECONDS: setting(
    '1',
    'Seconds to keep serving after a stop signal, so that load balancers notice.',
    integer(0, 5),
  ),
  LOG_LEVEL: setting('info', `Log level: ${logLevels.join(', ')}.`, oneOf(logLevels)),
  LOG_REQUESTS: setting(
    'off',
    'Requests to log: all, errors (4xx and 5xx), slow (see LOG_SLOW_MS) or off.',
    oneOf(loggedRequests),
  ),
  LOG_SLOW_MS: setting(
    '500',
    'Minimum duration in milliseconds of a request that LOG_REQUESTS=slow logs.',
    integer(1, 600_000),
  ),
} as const;

type SettingName = keyof typeof settings;
type Values = { readonly [Name in SettingName]: ReturnType<(typeof settings)[Name]['parse']> };

export type Config = ReturnType<typeof configOf> & { readonly settings: readonly ShownSetting[] };

/** Settings that cannot be used; `mistakes` lists all of them. */
export class ConfigError extends Error {
  readonly mistakes: readonly string[];
  constructor(mistakes: readonly string[]) {
    super(`Invalid ${mistakes.length === 1 ? 'setting' : 'settings'}:\n  ${mistakes.join('\n  ')}`);
    this.mistakes = mistakes;
  }
}

/**
 * Reads and checks every setting, and the `.env` files of a folder from which the runtime read some of them. Throws
 * `ConfigError` with all mistakes at once.
 */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
  envFolder?: string,
): Config {
  const mistakes: string[] =
    envFolder === undefined ? [] : envFileMistakes(envFolder, environment.NODE_ENV, Object.keys(settings));
  const values: Record<string, unknown> = {};
  for (const [name, { default: defaultText, parse }] of Object.entries(settings)) {
    try {
      values[name] = parse(environment[name]?.trim() || defaultText);
    } catch (error) {
      mistakes.push(`${name} ${(error as Error).message} (got "${shown(environment[name] ?? '', name)}").`);
    }
  }
  const partial = values as Partial<Values>;
  mistakes.push(...storeMistakes(partial, Boolean(environment.REDIS_URL?.trim())));
  mistakes.push(...banMistakes(partial), ...backupMistakes(partial), ...adminMistakes(partial));
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return Object.freeze({ ...configOf(values as Values), settings: shownSettings(settings, environment) });
}

/** Where the admin API listens; undefined where it does not. */
function adminOf({ PORT, ADMIN_HOST: host, ADMIN_PORT, ADMIN_ORIGIN: origin }: Values) {
  if (ADMIN_PORT === 'off') return undefined;
  const port = ADMIN_PORT ?? nextPort(PORT);
  return Object.freeze({ host, port, isPortSet: ADMIN_PORT !== undefined, origin });
}

/** The servers that several instances share; undefined without Redis. */
function clusterOf(values: Values) {
  if (values.REDIS_URL === undefined) return undefined;
  return Object.freeze({
    redisUrl: values.REDIS_URL,
    redisPrefix: values.REDIS_PREFIX,
    redisTimeoutMs: values.REDIS_TIMEOUT_MS,
    poolSize: values.POSTGRES_POOL_SIZE,
    statementTimeoutMs: values.POSTGRES_TIMEOUT_MS,
  });
}

function configOf(values: Values) {
  return Object.freeze({
    instanceName: values.INSTANCE_NAME,
    host: values.HOST,
    port: values.PORT,
    workers: values.WORKERS,
    admin: adminOf(values),
    maxConnections: values.MAX_CONNECTIONS,
    idleTimeoutSeconds: values.IDLE_TIMEOUT_SECONDS,
    databaseUrl: values.DATABASE_URL,
    cluster: clusterOf(values),
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
    drainSeconds: values.DRAIN_SECONDS,
    logLevel: values.LOG_LEVEL,
    logRequests: values.LOG_REQUESTS,
    logSlowMs: values.LOG_SLOW_MS,
  });
}
