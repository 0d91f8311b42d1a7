/** Load balancers with the configurations in deploy/, in front of instances on local ports. */
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { root } from '../support/process.ts';
import { findProgram, type OwnServer, ownServer, type ServerKind } from '../support/server-process.ts';

/** Below the ephemeral port range, so that a restarted instance can use the same port again. */
const ports = { from: 20_000, to: 30_000 } as const;

/** A load balancer with the configuration in deploy/, edited by `edit`. Undefined if the program is not installed. */
export async function deliveredProxy(
  name: 'nginx' | 'haproxy',
  instances: readonly string[],
  edit = (text: string) => text,
): Promise<OwnServer | undefined> {
  const program = findProgram(name);
  if (program === undefined) return undefined;
  return proxyServer((folder, port) =>
    name === 'nginx'
      ? nginx(program, folder, port, edit(delivered(name, instances)))
      : haproxy(program, folder, port, edit(delivered(name, instances))),
  );
}

/** Runs a proxy that forwards `/livez` to the service. */
export function proxyServer(command: ServerKind['command']): Promise<OwnServer> {
  return ownServer({
    scheme: 'http://',
    path: '',
    prepare: async () => {},
    answers: (url) =>
      fetch(`${url}/livez`).then(
        ({ status }) => status === 200,
        () => false,
      ),
    command,
  });
}

/** Adapts the configuration's address, log and paths. */
function nginx(program: string, folder: string, port: number, text: string): string[] {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  // These paths are relative to the prefix, because the prefix may contain spaces.
  const places = kinds.map((kind) => `${kind}_temp_path ${kind};`).join(' ');
  const listening = replaced(text, 'listen 8080', `listen 127.0.0.1:${port}`);
  const path = join(folder, 'nginx.conf');
  writeFileSync(
    path,
    replaced(listening, 'http {', `http { access_log off; error_log stderr crit; ${places}`),
  );
  const options = 'daemon off; master_process off; pid pid;';
  return [program, '-e', 'stderr', '-p', folder, '-c', path, '-g', options];
}

function haproxy(program: string, folder: string, port: number, text: string): string[] {
  const path = join(folder, 'haproxy.cfg');
  writeFileSync(path, replaced(text, 'bind :8080', `bind 127.0.0.1:${port}`));
  return [program, '-db', '-f', path];
}

const files = { nginx: 'nginx.conf', haproxy: 'haproxy.cfg' } as const;

function delivered(name: keyof typeof files, instances: readonly string[]): string {
  let text = readFileSync(join(root, 'deploy', files[name]), 'utf8');
  for (const [index, url] of instances.entries()) {
    text = replaced(text, `store-${index + 1}:3000`, new URL(url).host);
  }
  return text;
}

/** Replaces the first occurrence. Throws if there is none. */
export function replaced(text: string, what: string, by: string): string {
  if (!text.includes(what)) throw new Error(`The configuration has no "${what}".`);
  return text.replace(what, by);
}

/** A free port outside the ephemeral port range. */
export async function steadyPort(random: () => number): Promise<number> {
  for (;;) {
    const port = ports.from + Math.floor(random() * (ports.to - ports.from));
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}
