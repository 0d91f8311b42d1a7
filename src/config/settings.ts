/** All settings with their defaults, descriptions and parsers. A test compares this table with `docs/settings.md`. */

import { loggedRequests, logLevels } from '../contract/admin/system.ts';
import { operations } from '../contract/operations.ts';
import { defaultBanRules } from '../limits/limit.ts';
import {
  databaseUrl,
  emailAddress,
  host,
  httpsOrigin,
  httpUrl,
  instanceName,
  instant,
  integer,
  interval,
  networks,
  oneOf,
  optional,
  origins,
  type Parse,
  path,
  port,
  portOrOff,
  publicUrl,
  redisUrl,
  replicaUrls,
  secretKeys,
  text,
  workerCount,
} from './parsers.ts';

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
  HOST: setting(
    '127.0.0.1',
    'Address to listen on. Use 0.0.0.0 for all IPv4 addresses, or :: for all IPv4 and IPv6 addresses.',
    host,
  ),
  PORT: setting('3000', 'Port to listen on. 0 picks a free port.', port),
  WORKERS: setting(
    '1',
    'Number of processes that serve requests, or auto for one per available CPU core. Above 1: Linux only.',
    workerCount,
  ),
  MAX_CONNECTIONS: setting(
    '0',
    'Maximum open client connections. 0 uses three fifths of the free file descriptors, up to 10000.',
    integer(0, 1_000_000),
  ),
  ADMIN_HOST: setting(
    '127.0.0.1',
    'Address for the admin API and the console. Addresses other than loopback require ADMIN_ORIGIN.',
    host,
  ),
  ADMIN_PORT: setting(
    '',
    'Port of the admin API and the console, or off. Defaults to PORT + 1, if that port is free.',
    optional(portOrOff),
  ),
  ADMIN_ORIGIN: setting(
    '',
    'HTTPS URL that operators use, such as https://admin.example.com, served by a TLS proxy.',
    optional(httpsOrigin),
  ),
  INSTANCE_NAME: setting(
    '',
    'Name of this instance in lists. Defaults to the hostname and port.',
    optional(instanceName),
  ),
  IDLE_TIMEOUT_SECONDS: setting(
    '75',
    'Seconds after which an idle connection is closed. Must exceed the idle timeout of proxies.',
    integer(1, 255),
  ),
  DATABASE_URL: setting(
    'sqlite:./data/animal-store.db',
    'Database: sqlite:PATH (created by serve and import if missing), or postgres://… for several instances.',
    databaseUrl,
  ),
  DATABASE_REPLICA_URLS: setting(
    '',
    'PostgreSQL streaming replicas that serve reads, as postgres://… URLs separated by commas.',
    replicaUrls,
  ),
  REDIS_URL: setting(
    '',
    'Redis 7 or Valkey, redis://… or rediss://…. Required with PostgreSQL. For a cluster: redis://HOST1,HOST2.',
    optional(redisUrl),
  ),
  REDIS_PREFIX: setting('as:', 'Prefix of every Redis key. Must be the same on all instances.', text),
  REDIS_TIMEOUT_MS: setting(
    '50',
    'Redis timeout in milliseconds. On timeout, the instance enforces limits separately.',
    integer(5, 60_000),
  ),
  POSTGRES_POOL_SIZE: setting('10', 'Maximum PostgreSQL connections per instance.', integer(1, 1_000)),
  POSTGRES_TIMEOUT_MS: setting(
    '2000',
    'PostgreSQL statement timeout in milliseconds, including the wait for a connection. On timeout: 503.',
    integer(100, 600_000),
  ),
  PUBLIC_URL: setting(
    '',
    'Public base URL of the API, without /v1. Used in links and as the production server in the OpenAPI document.',
    optional(publicUrl),
  ),
  OPERATOR_URL: setting(
    '',
    'URL of your contact page. Listed as the contact in the OpenAPI document.',
    optional(httpUrl),
  ),
  OPERATOR_EMAIL: setting(
    '',
    'Your contact email address. Listed as the contact in the OpenAPI document.',
    optional(emailAddress),
  ),
  STAGING_URL: setting('', 'URL of a staging service, listed in the OpenAPI document.', optional(publicUrl)),
  TRUSTED_PROXIES: setting(
    '',
    'IP addresses or CIDR networks of proxies whose X-Forwarded-For is trusted, separated by commas.',
    networks('any client could forge its address'),
  ),
  CORS_ORIGINS: setting('', 'Origins allowed to call the API from browsers, separated by commas.', origins),
  GET_PET_SUNSET: setting(
    (operations.getPet.deprecation?.sunset ?? new Date(0)).toISOString(),
    'Time after which the deprecated getPet returns 410 (ISO 8601).',
    instant,
  ),
  AUTH_FAILURES_PER_MINUTE: setting(
    '600',
    'Failed authentications allowed per minute and client address (IPv4, or IPv6 /64) before 429.',
    integer(1, 1_000_000_000),
  ),
  PUBLIC_REQUESTS_PER_MINUTE: setting(
    '600',
    'Requests outside /v1 per minute and address before 429; large ones count per 64 KiB. Excludes health checks.',
    integer(1, 1_000_000_000),
  ),
  BAN_STRIKES: setting(
    String(defaultBanRules.strikes),
    'Number of strikes (requests sent before Retry-After has passed) after which a key is banned; at most 1000.',
    integer(1, 1_000),
  ),
  BAN_WITHIN_SECONDS: setting(
    String(defaultBanRules.withinSeconds),
    'Period in seconds in which strikes are counted.',
    integer(1, year),
  ),
  BAN_FIRST_SECONDS: setting(
    String(defaultBanRules.firstBanSeconds),
    'Length of the first ban in seconds. Each subsequent ban lasts twice as long.',
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
    'Folder where the service writes backups of an embedded store. Created if missing.',
    optional(path),
  ),
  BACKUP_EVERY: setting(
    '',
    'Interval between backups, such as 24h. Requires BACKUP_FOLDER. If unset, backups are created only on request.',
    optional(interval),
  ),
  BACKUP_KEEP: setting(
    '14',
    'Number of scheduled backups to keep. Manual backups are always kept.',
    integer(1, 100_000),
  ),
  EVENTS: setting('on', 'Whether changes are recorded as events: on or off.', oneOf(['on', 'off'])),
  EVENTS_KEEP_DAYS: setting('30', 'Number of days for which events are retained.', integer(1, 365)),
  WEBHOOKS: setting(
    'on',
    'Whether events are sent to webhooks: on or off. Use off for a copy of a store.',
    oneOf(['on', 'off']),
  ),
  WEBHOOK_ALLOWED_NETWORKS: setting(
    '',
    'Private IP addresses or CIDR networks to which webhooks may be sent, even over http. Separated by commas.',
    networks('any client could make the service send requests to every machine it can reach'),
  ),
  WEBHOOK_DELIVERIES_PER_SECOND: setting(
    '50',
    'Maximum number of requests per second to all webhooks of an account, from all instances.',
    integer(1, 10_000),
  ),
  SECRETS_KEY: setting(
    '',
    'Key that encrypts webhook secrets: 32 bytes in base64. To change it, set the new key, a comma and the old key.',
    secretKeys,
  ),
  DRAIN_SECONDS: setting(
    '1',
    'Seconds to keep serving after a stop signal, to give load balancers time to stop routing to this instance.',
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
    'Minimum duration, in milliseconds, for a request to be logged with LOG_REQUESTS=slow.',
    integer(1, 600_000),
  ),
} as const;

/** The parsed value of each setting. */
export type SettingValues = {
  readonly [Name in keyof typeof settings]: ReturnType<(typeof settings)[Name]['parse']>;
};
