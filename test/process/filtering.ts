import { testWith } from '../support/requirements.ts';

// Some Linux kernels permit socket filters only to root (EPERM), and other systems have none.
const probe = `
  import { refuseNewConnections } from './src/http/new-connections.ts';
  const { port } = Bun.serve({ port: 0, hostname: '127.0.0.1', reusePort: false, fetch: () => new Response() });
  process.exit(refuseNewConnections(port) ? 0 : 1);`;

/** Tests of connections that arrive while a listener closes. */
export const filtering = testWith(
  { name: 'Linux kernel that lets this user filter a socket', package: 'linux-image-amd64', optional: true },
  [process.execPath, '-e', probe],
);
