import { testWith } from '../support/requirements.ts';

// Some Linux kernels let only root filter what reaches a socket (EPERM), and other systems have no such filter.
const probe = `
  import { refuseNewConnections } from './src/http/new-connections.ts';
  const { port } = Bun.serve({ port: 0, hostname: '127.0.0.1', reusePort: false, fetch: () => new Response() });
  process.exit(refuseNewConnections(port) ? 0 : 1);`;

/** Tests of what a listener does about connections that come as it closes. */
export const filtering = testWith(
  { name: 'Linux kernel that lets this user filter a socket', package: 'linux-image-amd64', optional: true },
  [process.execPath, '-e', probe],
);
