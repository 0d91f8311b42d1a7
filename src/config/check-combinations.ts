/** Finds settings that are valid individually, but not in combination or on this machine. */
import { statSync } from 'node:fs';
import { isIP } from 'node:net';
import type { SettingValues } from './settings.ts';

type Values = Partial<SettingValues>;

/** `hasRedis` is true if REDIS_URL is set, even to an invalid value. */
export function checkCombinations(values: Values, hasRedis: boolean): string[] {
  return [
    ...checkRedis(values, hasRedis),
    ...checkReplicas(values),
    ...checkBans(values),
    ...checkBackups(values),
    ...checkAdmin(values),
  ];
}

function isPostgres({ DATABASE_URL = '' }: Values): boolean {
  return DATABASE_URL.startsWith('postgres');
}

function checkReplicas(values: Values): string[] {
  const { DATABASE_URL: url = '', DATABASE_REPLICA_URLS: replicas = [] } = values;
  if (replicas.length > 0 && values.DATABASE_URL !== undefined && !isPostgres(values)) {
    return [
      'DATABASE_REPLICA_URLS must not be set when DATABASE_URL is SQLite, which has no replicas. Set DATABASE_URL to your PostgreSQL server, or remove DATABASE_REPLICA_URLS.',
    ];
  }
  if (replicas.includes(url)) {
    return [
      'DATABASE_REPLICA_URLS must not contain DATABASE_URL, which is the primary. List only its replicas.',
    ];
  }
  const schema = urlSchema(url);
  const other = replicas.map(urlSchema).find((found) => found !== null && found !== schema);
  if (other && schema !== null) {
    return [
      `DATABASE_REPLICA_URLS must have the same search_path as DATABASE_URL: set it to "${schema}" instead of "${other}".`,
    ];
  }
  if (new Set(replicas).size < replicas.length)
    return ['DATABASE_REPLICA_URLS must not list the same URL twice.'];
  return [];
}

/** Returns the schema in a URL, or null if the URL has none. In that case, the database role may set the schema. */
function urlSchema(url: string): string | null {
  return URL.parse(url)?.searchParams.get('search_path') ?? null;
}

function checkRedis(values: Values, hasRedis: boolean): string[] {
  if (isPostgres(values) && !hasRedis) {
    return [
      'REDIS_URL must be set when DATABASE_URL is PostgreSQL: instances share limits and changes through Redis.',
    ];
  }
  if (!isPostgres(values) && values.DATABASE_URL !== undefined && values.REDIS_URL !== undefined) {
    return [
      'REDIS_URL must not be set when DATABASE_URL is SQLite, which does not use it. Set DATABASE_URL to your PostgreSQL server, or remove REDIS_URL.',
    ];
  }
  return [];
}

function checkBans({ BAN_FIRST_SECONDS: first = 0, BAN_LONGEST_SECONDS: longest }: Values): string[] {
  if (longest === undefined || first <= longest) return [];
  return [`BAN_FIRST_SECONDS must not exceed BAN_LONGEST_SECONDS (${first} is more than ${longest}).`];
}

function checkBackups(values: Values): string[] {
  const { BACKUP_FOLDER: folder, BACKUP_EVERY: everyMs } = values;
  const mistakes: string[] = [];
  if (folder !== undefined && isFile(folder)) {
    mistakes.push(`BACKUP_FOLDER must be a folder, but "${folder}" is a file.`);
  }
  if (everyMs === undefined) return mistakes;
  if (isPostgres(values)) {
    mistakes.push(
      'BACKUP_EVERY must not be set when DATABASE_URL is PostgreSQL. Use its backup tools (docs/backup.md).',
    );
  } else if (folder === undefined) {
    mistakes.push('BACKUP_FOLDER must be set when BACKUP_EVERY is set: backups are written to it.');
  }
  return mistakes;
}

function isFile(path: string): boolean {
  try {
    return !statSync(path).isDirectory();
  } catch {
    // The folder is missing or unreachable. The backup will fail and log the reason.
    return false;
  }
}

function checkAdmin({ PORT, ADMIN_HOST, ADMIN_PORT, ADMIN_ORIGIN }: Values): string[] {
  if (ADMIN_PORT === 'off') return [];
  const mistakes: string[] = [];
  if (ADMIN_PORT !== undefined && ADMIN_PORT !== 0 && ADMIN_PORT === PORT) {
    mistakes.push(`ADMIN_PORT must differ from PORT (both are ${PORT}).`);
  }
  if (ADMIN_HOST !== undefined && ADMIN_ORIGIN === undefined && !isLoopback(ADMIN_HOST)) {
    mistakes.push(
      `ADMIN_ORIGIN must be set when ADMIN_HOST is ${ADMIN_HOST}: other machines reach the admin API there, and tokens and ` +
        'sessions would cross the network in clear text. Put a TLS proxy in front of it and set ADMIN_ORIGIN to its ' +
        'https address, set ADMIN_HOST to 127.0.0.1, or set ADMIN_PORT to off.',
    );
  }
  return mistakes;
}

function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith('127.');
  return host === 'localhost' || host === '::1';
}
