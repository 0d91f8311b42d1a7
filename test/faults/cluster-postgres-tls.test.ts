/** Connections to PostgreSQL are encrypted if the server supports TLS, and verified as `sslmode` requires. */
import { afterAll, describe, expect } from 'bun:test';
import { StoreUnusableError } from '../../src/outages/errors.ts';
import { PostgresDatabase } from '../../src/storage/postgres/database.ts';
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
// The service ignores libpq's environment variables.
const environment = { PGSSLMODE: 'disable', PGDATABASE: 'none_of_this_name' };
const cluster = certificate && made.use(await startCluster({ instances: 1, certificate, environment }));

/** Returns a description of the connection's encryption, or the error. */
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
    if (error instanceof StoreUnusableError) return error.message;
    throw error;
  }
}

describe.skipIf(plain === undefined || cluster === undefined)('a TLS connection to PostgreSQL', () => {
  const secured = cluster?.postgres.url;
  const byName = secured?.replace('127.0.0.1', 'localhost');
  const root = `sslrootcert=${certificate?.authorityPath}`;

  testTls('is used without an sslmode if the server supports it', async () => {
    expect(await connect(secured, '')).toMatch(/^TLSv1\.\d, certificate not verified \(sslmode=prefer\)$/);
    expect(await connect(plain?.url, '')).toBe('none');
    expect(await connect(secured, '?sslmode=disable')).toBe('none');
  });

  testTls('is refused if the sslmode is unknown, with an error that lists the valid modes', async () => {
    expect(await connect(secured, '?sslmode=on')).toMatch(/sslmode.*must be one of: disable, .*verify-full/);
  });

  testTls('is mandatory with sslmode=require', async () => {
    expect(await connect(secured, '?sslmode=require')).toContain(
      'certificate not verified (sslmode=require)',
    );
    expect(await connect(plain?.url, '?sslmode=require')).toContain('Server does not support SSL');
  });

  testTls(
    'requires a certificate signed by the given authority with verify-ca and verify-full, and a matching host name with verify-full',
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

  testTls('is logged when the service starts, and is not affected by libpq environment variables', () => {
    const started = cluster?.instances.map(({ stderr }) => stderr()).join('');
    const line = started?.split('\n').find((one) => one.includes('"msg":"serving"'));
    expect(JSON.parse(line ?? '{}').encryption).toMatch(/^TLSv1\.\d, certificate not verified/);
  });
});
