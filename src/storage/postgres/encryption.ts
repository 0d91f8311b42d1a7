import type { SQL } from 'bun';

/** Certificate checks that libpq performs for these `sslmode` values. */
const checked = {
  'verify-ca': 'certificate verified',
  'verify-full': 'certificate and host name verified',
} as const;

/** Returns the `sslmode` of a URL, as in libpq. Defaults to `prefer`, or to `verify-full` if `sslrootcert` is set. */
export function readSslMode(url: string): string {
  const parameters = new URL(url).searchParams;
  for (const name of ['sslmode', 'ssl', 'tls']) {
    const mode = parameters.get(name);
    if (mode !== null && mode !== '') return mode;
  }
  return parameters.get('sslrootcert') ? 'verify-full' : 'prefer';
}

interface Encryption {
  /** TLS version, such as "TLSv1.3"; null if TLS is not used. */
  readonly version: string | null;
}

export function queryEncryption(sql: SQL): SQL.Query<Encryption[]> {
  return sql`SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()`;
}

export function describeEncryption(url: string, version: string | null = null): string {
  if (version === null) return 'none';
  const mode = readSslMode(url);
  const isChecked = mode === 'verify-ca' || mode === 'verify-full';
  return `${version}, ${isChecked ? checked[mode] : `certificate not verified (sslmode=${mode})`}`;
}

/**
 * Describes the encryption between this process and the pooler. The server can report only how the pooler's own
 * connections are encrypted.
 */
export function describeEncryptionToPooler(url: string): string {
  const mode = readSslMode(url);
  if (mode === 'disable') return 'none, to a connection pooler';
  const version = mode === 'allow' || mode === 'prefer' ? null : 'TLS';
  return `${version === null ? `unknown (sslmode=${mode})` : describeEncryption(url, version)}, to a connection pooler`;
}
