/** nginx under the configuration that is delivered, before instances on ports of this machine. */
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { root } from '../support/process.ts';
import { findProgram, type OwnServer, ownServer } from '../support/server-process.ts';

/** Below the ports systems give to clients, so that an instance finds its own free again. */
const ports = { from: 20_000, to: 30_000 } as const;

/** Undefined where there is no nginx. */
export async function deliveredProxy(instances: readonly string[]): Promise<OwnServer | undefined> {
  const program = findProgram('nginx');
  if (program === undefined) return undefined;
  return ownServer({
    scheme: 'http://',
    path: '',
    prepare: async () => {},
    answers: (url) =>
      fetch(`${url}/livez`).then(
        ({ status }) => status === 200,
        () => false,
      ),
    command(folder, port) {
      const path = join(folder, 'nginx.conf');
      writeFileSync(path, adapted(folder, port, instances));
      const options = `daemon off; master_process off; pid ${folder}/pid;`;
      return [program, '-e', 'stderr', '-p', folder, '-c', path, '-g', options];
    },
  });
}

/** Only addresses change, and where it may write. */
function adapted(folder: string, port: number, instances: readonly string[]): string {
  let text = readFileSync(join(root, 'deploy/nginx.conf'), 'utf8');
  for (const [index, url] of instances.entries()) {
    text = replaced(text, `store-${index + 1}:3000`, new URL(url).host);
  }
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const places = kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ');
  text = replaced(text, 'listen 8080', `listen 127.0.0.1:${port}`);
  return replaced(text, 'http {', `http { access_log off; error_log stderr crit; ${places}`);
}

function replaced(text: string, what: string, by: string): string {
  if (!text.includes(what)) throw new Error(`deploy/nginx.conf has no "${what}".`);
  return text.replace(what, by);
}

/** A port that nothing listens on and no client is given. */
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
