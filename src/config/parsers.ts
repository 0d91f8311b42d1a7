/** Parsers of settings. Each returns the parsed value, or throws an error that describes the expected format. */
import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { type Network, parseNetwork } from '../domain/address.ts';
import { dayMs, msPerUnit } from '../domain/clock.ts';
import { maskUrl } from '../domain/mask-url.ts';
import { parseRedisUrls } from '../domain/redis-urls.ts';
import { maxWorkers } from '../domain/workers.ts';

/** Throws an `Error` whose message follows the setting's name, such as "must not be empty". */
export type Parse<T> = (text: string) => T;

export function integer(min: number, max: number): Parse<number> {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) throw new Error(`must be a whole number from ${min} to ${max}`);
    return value;
  };
}

/**
 * Parses the number of serving processes, or `auto`. Only Linux distributes connections among processes that share a
 * port. On BSD and macOS, the last process gets all connections; Windows lacks SO_REUSEPORT.
 */
export function workerCount(value: string, platform: NodeJS.Platform = process.platform): number {
  const canShare = platform === 'linux';
  if (value === 'auto') return canShare ? Math.min(maxWorkers, availableParallelism()) : 1;
  const count = /^\d{1,3}$/.test(value) ? Number(value) : 0;
  if (count < 1 || count > maxWorkers) {
    throw new Error(`must be a whole number from 1 to ${maxWorkers}, or auto`);
  }
  if (count > 1 && !canShare) {
    throw new Error(
      'must be 1 on this system: only Linux distributes connections among processes that share a port',
    );
  }
  return count;
}

const maxPort = 65_535;

export const port = integer(0, maxPort);

export function portOrOff(value: string): number | 'off' {
  if (value === 'off') return value;
  try {
    return port(value);
  } catch (error) {
    throw new Error(`${(error as Error).message}, or off`);
  }
}

/**
 * Returns the default port of the admin API: the service's port + 1, or 0 (any free port) if the service's port is 0.
 */
export function defaultAdminPort(servicePort: number): number {
  if (servicePort === 0) return 0;
  return servicePort === maxPort ? servicePort - 1 : servicePort + 1;
}

export function httpsOrigin(value: string): string {
  const url = URL.parse(value);
  if (url === null || url.protocol !== 'https:' || url.origin !== value.toLowerCase().replace(/\/$/, '')) {
    throw new Error('must be an https address without a path, such as https://admin.example.com');
  }
  return url.origin;
}

export function text(value: string): string {
  if (value === '') throw new Error('must not be empty');
  return value;
}

/** Parses an address or a host name to listen on. IPv6 addresses may be in brackets, as in URLs. */
export function host(value: string): string {
  const address = value.replace(/^\[(.*)\]$/, '$1');
  if (isIP(address) !== 0) return address;
  if (/^[\w.-]+$/.test(value)) return value;
  throw new Error('must be an IP address or a host name, without a scheme or port, such as 127.0.0.1 or ::1');
}

/** Parses a path. A shell does not expand `~` in the middle of a word, and nothing expands it in `.env` or systemd. */
export function path(value: string): string {
  if (/^~(?=\/|$)/.test(value)) {
    throw new Error('must not begin with ~, which only shells replace: use the full path of the folder');
  }
  return text(value);
}

/** Makes a setting optional: an empty value becomes undefined. */
export function optional<T>(parse: Parse<T>): Parse<T | undefined> {
  return (value) => (value === '' ? undefined : parse(value));
}

const maxIntervalMs = 365 * dayMs;

/** Parses an interval. Returns ms. */
export function interval(value: string): number {
  const [, count = '', unit = 's'] = /^([1-9]\d{0,8})([smhd])$/.exec(value) ?? [];
  const ms = Number(count) * (msPerUnit[unit] ?? 0);
  if (count === '' || ms > maxIntervalMs) {
    throw new Error('must be a duration such as 30m, 24h or 7d, at most 365d');
  }
  return ms;
}

function isPostgresUrl(value: string): boolean {
  return /^postgres(?:ql)?:\/\/./.test(value) && URL.canParse(value);
}

export function databaseUrl(value: string): string {
  if (/^sqlite:(?:\/\/)?\s*:memory:$/.test(value)) {
    throw new Error(
      'must be a file, such as sqlite:./data/animal-store.db: data in memory would be lost on exit',
    );
  }
  if (!isPostgresUrl(value) && !/^sqlite:(?!\/?\/?$)./.test(value)) {
    throw new Error(
      'must be sqlite:PATH, such as sqlite:./data/animal-store.db, or postgres://USER:PASSWORD@HOST/DATABASE',
    );
  }
  if (isPostgresUrl(value)) expectSslMode(value);
  else if (/^sqlite:(?:\/\/)?~(?=\/|$)/.test(value)) {
    throw new Error('must not begin with ~, which only shells replace: use the full path, sqlite:/PATH');
  }
  return value;
}

const sslModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'];

/** Throws if PostgreSQL does not support the `sslmode`. */
function expectSslMode(url: string): void {
  const mode = URL.parse(url)?.searchParams.get('sslmode');
  if (!mode || sslModes.includes(mode)) return;
  throw new Error(`must have a valid sslmode: ${sslModes.join(', ')}`);
}

const maxReplicas = 16;

/** Parses URLs separated by commas. A comma in a password must be escaped as %2C. */
export function replicaUrls(value: string): readonly string[] {
  if (/;\s*postgres(ql)?:/.test(value))
    throw new Error('must be URLs separated by commas, not by semicolons');
  const urls = list(value);
  if (urls.length > maxReplicas) throw new Error(`must be at most ${maxReplicas} URLs`);
  for (const url of urls) {
    if (isPostgresUrl(url)) {
      expectSslMode(url);
      continue;
    }
    throw new Error(
      `must be a list of URLs such as postgres://USER:PASSWORD@HOST/DATABASE, not "${maskUrl(url)}"`,
    );
  }
  return urls;
}

export function redisUrl(value: string): string {
  try {
    parseRedisUrls(value);
    return value;
  } catch {
    throw new Error('must be a URL such as redis://127.0.0.1:6379 or rediss://:PASSWORD@HOST:6379');
  }
}

export function instanceName(value: string): string {
  if (!/^[\w.:@-]{1,100}$/.test(value)) {
    throw new Error('must have 1 to 100 letters, digits or characters of "-_.:@"');
  }
  return value;
}

/** Parses the public base URL of the API, without `/v1`. */
export function publicUrl(value: string): string {
  const url = URL.parse(value);
  if (
    url === null ||
    !/^https?:$/.test(url.protocol) ||
    url.search !== '' ||
    url.hash !== '' ||
    url.username !== ''
  ) {
    throw new Error('must be an http or https URL such as https://animals.example.com');
  }
  const base = (url.origin + url.pathname).replace(/\/+$/, '');
  if (base.endsWith('/v1')) throw new Error('must not end in /v1; the service adds the version');
  return base;
}

export function httpUrl(value: string): string {
  if (!/^https?:\/\/./.test(value) || !URL.canParse(value)) {
    throw new Error('must be an http or https URL such as https://example.com/support');
  }
  return value;
}

export function emailAddress(value: string): string {
  if (!/^[^\s@]+@[^\s@]+$/.test(value)) throw new Error('must be an email address such as api@example.com');
  return value;
}

function list(value: string): string[] {
  return value.split(/[\s,]+/).filter((item) => item !== '');
}

/** `whyNotAll` explains why a network that contains every address is rejected. */
export function networks(whyNotAll: string): Parse<readonly Network[]> {
  return (value) =>
    list(value).map((item) => {
      const network = parseNetwork(item);
      if (network?.[1] === 0) throw new Error(`must not contain every address ("${item}"): ${whyNotAll}`);
      if (network !== undefined) return network;
      throw new Error(
        `must be a list of IP addresses or CIDR networks such as 10.0.0.7, 10.0.0.0/8, not "${item}"`,
      );
    });
}

/** Parses one or two 32-byte keys in base64. */
export function secretKeys(value: string): readonly Uint8Array[] {
  const keys = list(value);
  // 43 characters encode 258 bits, so the last two bits must be zero.
  if (keys.length > 2 || !keys.every((key) => /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/.test(key))) {
    throw new Error('must be 32 bytes in base64, as `openssl rand -base64 32` prints them, or two such keys');
  }
  return keys.map((key) => Buffer.from(key, 'base64'));
}

export function origins(value: string): ReadonlySet<string> {
  for (const item of list(value)) {
    if (URL.parse(item)?.origin !== item) {
      throw new Error(
        `must be a list of origins such as https://shop.example.com, without a path, not "${maskPassword(item)}"`,
      );
    }
  }
  return new Set(list(value));
}

const instantForm = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

export function instant(value: string): number {
  const day = instantForm.exec(value)?.[1] ?? '';
  // JavaScript parses 30 February as 2 March.
  const midnight = new Date(Date.parse(`${day}T00:00Z`) || 0);
  const time = midnight.toISOString().startsWith(`${day}T`) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(time)) throw new Error('must be an ISO 8601 date and time such as 2030-12-05T00:00:00Z');
  return time;
}

export function oneOf<const T extends string>(values: readonly T[]): Parse<T> {
  return (text) => {
    const value = values.find((known) => known === text);
    if (value === undefined) throw new Error(`must be one of ${values.join(', ')}`);
    return value;
  };
}

export function maskPassword(value: string, name?: string): string {
  if (name === 'SECRETS_KEY' && value !== '') return '***';
  if (name === 'DATABASE_REPLICA_URLS') return list(value).map(maskUrl).join(',');
  if (name === 'REDIS_URL') return maskedRedisUrl(value);
  const mayBearPassword = name === 'DATABASE_URL' || value.includes('@');
  return mayBearPassword ? maskUrl(value) : value;
}

/** Masks the password in the URL of each cluster node. */
function maskedRedisUrl(value: string): string {
  try {
    return parseRedisUrls(value).map(maskUrl).join(',');
  } catch {
    return maskUrl(value);
  }
}
