/** The connections to a port, as the listener lists and closes them. */
import { expect } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { listConnections } from '../../src/http/listener/sockets.ts';
import { temporaryFolder } from '../support/folder.ts';
import { testWith } from '../support/requirements.ts';
import { until } from '../support/wait.ts';

testWith({ name: '/proc', package: 'linux-image', optional: true }, ['test', '-e', '/proc/self/fd'])(
  'do not include Unix sockets, which the service uses to communicate with its own processes',
  async () => {
    await using folder = await temporaryFolder();
    let open = 0;
    const socket = { data: () => undefined, open: () => void open++ };
    using tcp = Bun.listen({ hostname: '127.0.0.1', port: 0, socket });
    using unix = Bun.listen({ unix: join(folder.path, 'socket'), socket });
    const clients: Socket[] = [];
    // Alternates between the two, because a socket without an address must not be mistaken for the previous connection.
    const begin = [() => connect(tcp.port, '127.0.0.1'), () => connect(unix.unix)];
    for (const connectTo of [...begin, ...begin, ...begin]) {
      clients.push(connectTo());
      await until(() => open === clients.length);
    }
    expect(listConnections(tcp.port)).toHaveLength(3);
    for (const client of clients) client.destroy();
  },
);
