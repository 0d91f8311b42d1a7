import { expect, test } from 'bun:test';
import { readConfig } from '../../src/config.ts';

const warningsFor = (environment: Record<string, string>) => readConfig(environment).warnings;

test.each([
  ['WORKER', 'WORKERS'],
  ['LOG_REQUEST', 'LOG_REQUESTS'],
  ['DATABASE_URI', 'DATABASE_URL'],
  ['TRUSTED_PROXY', 'TRUSTED_PROXIES'],
  ['REDIS_TIMEOUT', 'REDIS_TIMEOUT_MS'],
  ['port', 'PORT'],
  ['BACKUP_DIR', 'BACKUP_FOLDER, BACKUP_EVERY, BACKUP_KEEP'],
  ['LOG_FORMAT', 'LOG_LEVEL, LOG_REQUESTS, LOG_SLOW_MS'],
])('the variable %s causes a warning that names %s', (name, similar) => {
  expect(warningsFor({ [name]: '4' })).toEqual([
    `The environment variable ${name} is not a setting. Similar settings: ${similar}.`,
  ]);
});

test('variables of systems and of other programs cause no warning', () => {
  const systems =
    'PATH HOME HOSTNAME LOGNAME USER SHELL TERM LANG TZ PWD MAIL EDITOR INIT_CWD npm_command NODE_ENV';
  const systemd = 'INVOCATION_ID JOURNAL_STREAM STATE_DIRECTORY NOTIFY_SOCKET SYSTEMD_EXEC_PID';
  const others =
    'WORKER_CLASS WEB_CONCURRENCY BROKERS HTTP_PORT MAX_OLD_SPACE REDIS_HOST REDIS_PORT REDIS_SSL REDIS_PASSWORD ' +
    'POSTGRES_USER POSTGRES_PASSWORD POSTGRES_DB DATABASE_HOST DATABASE_NAME PGHOST PGPORT FROM_DATABASE_URL ' +
    'TO_DATABASE_URL OPERATOR_NAME BUN_JSC_forceRAMSize MIMALLOC_PURGE_DELAY HTTPS_PROXY NO_PROXY';
  const names = [systems, systemd, others].join(' ').split(' ');
  expect(warningsFor(Object.fromEntries(names.map((name) => [name, '1'])))).toEqual([]);
});

test('variables that Kubernetes and Docker set for services cause no warning', () => {
  const links = (name: string) => ({
    [`${name}_SERVICE_HOST`]: '10.0.0.1',
    [`${name}_SERVICE_PORT`]: '80',
    [`${name}_SERVICE_PORT_HTTP`]: '80',
    [`${name}_PORT`]: 'tcp://10.0.0.1:80',
    [`${name}_PORT_80_TCP`]: 'tcp://10.0.0.1:80',
    [`${name}_PORT_80_TCP_PROTO`]: 'tcp',
    [`${name}_PORT_80_TCP_PORT`]: '80',
    [`${name}_PORT_80_TCP_ADDR`]: '10.0.0.1',
  });
  expect(warningsFor({ ...links('BACKUP'), ...links('LOG'), ...links('ANIMAL_STORE') })).toEqual([]);
});
