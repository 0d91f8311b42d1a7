import { join } from 'node:path';

/** Arguments for `testWith` that skip a test where certificates cannot be created. */
export const openssl = [{ name: 'openssl', package: 'openssl' }, ['openssl', 'version']] as const;

/** A server's certificate and private key, in PEM format. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
  /** File with the CA certificate that signed the server's certificate. */
  readonly authorityPath: string;
}

/** Creates a certificate authority in the folder, and a server certificate for these host names. */
export async function makeCertificate(
  folder: string,
  hostname: string,
  otherNames: readonly string[] = [],
): Promise<Certificate> {
  const path = (name: string) => join(folder, name);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const authority = [...key, '-keyout', path('ca.key'), '-out', path('ca.pem'), '-days', '2'];
  await run('req', '-x509', ...authority, '-subj', '/CN=Authority of the tests');
  await run(
    'req',
    ...key,
    '-keyout',
    path('server.key'),
    '-out',
    path('server.csr'),
    '-subj',
    `/CN=${hostname}`,
  );
  const names = [hostname, ...otherNames].map((name, at) => `DNS.${at} = ${name}\n`);
  await Bun.write(path('names'), `subjectAltName=@names\n[names]\n${names.join('')}`);
  const signing = ['-CA', path('ca.pem'), '-CAkey', path('ca.key'), '-CAcreateserial', '-days', '2'];
  const signed = ['-in', path('server.csr'), '-out', path('server.pem'), '-extfile', path('names')];
  await run('x509', '-req', ...signed, ...signing);
  return {
    certificate: await Bun.file(path('server.pem')).text(),
    key: await Bun.file(path('server.key')).text(),
    authorityPath: path('ca.pem'),
  };
}

async function run(...command: string[]): Promise<void> {
  const child = Bun.spawn(['openssl', ...command], { stdout: 'ignore', stderr: 'pipe' });
  if ((await child.exited) !== 0) throw new Error(`openssl ${command[0]}: ${await child.stderr.text()}`);
}
