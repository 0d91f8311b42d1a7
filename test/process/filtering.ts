import { testWith } from '../support/requirements.ts';

// Some Linux kernels allow socket filters only for root (EPERM), and other systems do not have socket filters.
const probe = `
  import { refuseNewConnections } from './src/http/listener/sockets.ts';
  const { port } = Bun.serve({ port: 0, hostname: '127.0.0.1', reusePort: false, fetch: () => new Response() });
  process.exit(refuseNewConnections(port) ? 0 : 1);`;

/** Like `test`, for tests in which connections arrive while a listener closes. */
export const filtering = testWith(
  {
    name: 'Linux kernel that lets this user set socket filters',
    package: 'linux-image-amd64',
    optional: true,
  },
  [process.execPath, '-e', probe],
);
