/** Connections to PostgreSQL are encrypted if the server supports it, and verified as `sslmode` demands. */
import { afterAll, describe, expect } from 'bun:test';
import { PostgresDatabase } from '../../src/storage/postgres/database.ts';
import { StorageUnusable } from '../../src/storage/storage.ts';
import { type Certificate, makeCertificate, openssl } from '../support/certificates.ts';
import { startCluster } from '../support/cluster.ts';
import { temporaryFolder } from '../support/folder.ts';
import { testWith } from '../support/requirements.ts';
import { ownPostgres } from '../support/servers.ts';

const testTls = testWith(...openssl);
const made = new AsyncDisposableStack();
afterAll(() => made.disposeAsync());

const certificate: Certificate | undefined =
  Bun.which('openssl') === null
    ? undefined
    : await makeCertificate(made.use(await temporaryFolder()).path, 'localhost');
const plain = made.use(await ownPostgres());
// The service ignores libpq's variables.
const environment = { PGSSLMODE: 'disable', PGDATABASE: 'none_of_this_name' };
const cluster = certificate && made.use(await startCluster({ instances: 1, certificate, environment }));

/** The server's description of the connection, or the error. */
async function connect(server: string | undefined, parameters: string): Promise<string> {
  await using database = new PostgresDatabase({
    url: `${server}${parameters}`,
    poolSize: 1,
    statementTimeoutMs: 10_000,
    notice: () => {},
  });
  try {
    await database.migrate();
    return await database.encryption();
  } catch (error) {
    if (error instanceof StorageUnusable) return error.message;
    throw error;
  }
}

describe.skipIf(plain === undefined || cluster === undefined)('TLS to PostgreSQL', () => {
  const secured = cluster?.postgres.url;
  const byName = secured?.replace('127.0.0.1', 'localhost');
  const root = `sslrootcert=${certificate?.authorityPath}`;

  testTls('without an sslmode it is used if the server has it, and done without if not', async () => {
    expect(await connect(secured, '')).toMatch(/^TLSv1\.\d, certificate not verified \(sslmode=prefer\)$/);
    expect(await connect(plain?.url, '')).toBe('none');
    expect(await connect(secured, '?sslmode=disable')).toBe('none');
  });

  testTls('an sslmode there is not is refused with those there are', async () => {
    expect(await connect(secured, '?sslmode=on')).toMatch(/sslmode.*must be one of: disable, .*verify-full/);
  });

  testTls('sslmode=require has it or nothing', async () => {
    expect(await connect(secured, '?sslmode=require')).toContain(
      'certificate not verified (sslmode=require)',
    );
    expect(await connect(plain?.url, '?sslmode=require')).toContain('Server does not support SSL');
  });

  testTls(
    'verify-ca and verify-full take certificates of the given authority only, verify-full by its name only',
    async () => {
      expect(await connect(byName, `?sslmode=verify-full&${root}`)).toMatch(
        /certificate and host name verified$/,
      );
      expect(await connect(byName, `?${root}`)).toMatch(/certificate and host name verified$/);
      expect(await connect(secured, `?sslmode=verify-ca&${root}`)).toMatch(/, certificate verified$/);
      expect(await connect(secured, `?sslmode=verify-full&${root}`)).toMatch(
        /Cannot open .*(127\.0\.0\.1|altnames|name)/i,
      );
      expect(await connect(byName, '?sslmode=verify-full')).toMatch(/Cannot open .*certificate/i);
    },
  );

  testTls('the service logs the encryption at its start, and ignores the variables of libpq', () => {
    const started = cluster?.instances.map(({ stderr }) => stderr()).join('');
    const line = started?.split('\n').find((one) => one.includes('"msg":"serving"'));
    expect(JSON.parse(line ?? '{}').encryption).toMatch(/^TLSv1\.\d, certificate not verified/);
  });
});
