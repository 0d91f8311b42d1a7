/** Baselines for the service: servers that do nothing but return fixed bodies, with constant or varying headers. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Addressing, Contender, RunningContender, Target } from './contender.ts';
import { readVersion } from './machine.ts';
import { freePort, startServer } from './server-process.ts';

export interface RecordedAnswer {
  /** Path at which the baseline server sends this response. */
  readonly path: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const paths = { list: '/list', pet: '/pet', create: '/create', refused: '/refused' } as const;

const addressing: Addressing = {
  list: { target: paths.list, key: 'any' },
  pet: (id) => ({ target: `${paths.pet}/${id}`, key: 'any' }),
  create: { target: paths.create, key: 'any' },
  refused: () => ({ target: paths.refused, key: 'any' }),
};

/** Records the service's response to one request of each kind. */
export async function recordAnswers({ server, addressing }: RunningContender): Promise<RecordedAnswer[]> {
  const ask = async (path: string, { target, key }: Target, body?: string): Promise<RecordedAnswer> => {
    const response = await fetch(server.url + target, {
      headers: {
        Authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { method: 'POST', body }),
    });
    // Every server generates these headers.
    const own = new Set(['connection', 'content-length', 'date', 'keep-alive']);
    const headers = Object.fromEntries([...response.headers].filter(([name]) => !own.has(name)));
    return { path, status: response.status, headers, body: await response.text() };
  };
  const refused = addressing.refused?.() ?? addressing.list;
  await ask(paths.refused, refused);
  return [
    await ask(paths.list, addressing.list),
    await ask(paths.pet, addressing.pet(50_000)),
    await ask(paths.create, addressing.create, '{"name":"Ozzy","categoryId":1}'),
    await ask(paths.refused, refused),
  ];
}

/** Baseline with nginx, if it is installed. */
export function nginxContender(folder: string, answers: readonly RecordedAnswer[]): Contender {
  return {
    name: 'nginx',
    title: `nginx ${readVersion(['nginx', '-v'])} (same bytes, constant headers)`,
    role: 'limit',
    runtime: 'native',
    does: [],
    async start() {
      const port = await freePort();
      const home = join(folder, 'nginx');
      mkdirSync(home);
      await Bun.write(join(home, 'nginx.conf'), nginxConfiguration(port, home, answers));
      const server = await startServer('nginx', port, {
        command: ['nginx', '-p', home, '-c', join(home, 'nginx.conf'), '-e', join(home, 'error.log')],
        probe: addressing.list,
      });
      return { server, addressing };
    },
  };
}

function nginxConfiguration(port: number, home: string, answers: readonly RecordedAnswer[]): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
daemon off;
master_process off;
pid ${home}/nginx.pid;
events { worker_connections 1024; }
http {
  access_log off;
  server_tokens off;
  keepalive_requests 1000000000;
  ${temporary.map((kind) => `${kind}_temp_path ${home}/${kind};`).join('\n  ')}
  server {
    listen 127.0.0.1:${port};
${answers.map(nginxLocation).join('\n')}
  }
}
`;
}

function nginxLocation({ path, status, headers, body }: RecordedAnswer): string {
  const { 'content-type': type = 'application/json', ...others } = headers;
  const lines = Object.entries(others).map(([name, value]) => `add_header ${name} ${quoted(value)} always;`);
  return `    location ${path} {
      default_type ${type};
      ${lines.join('\n      ')}
      return ${status} ${quoted(body)};
    }`;
}

/** Quotes text for nginx, which cannot escape dollar signs. The benchmark's animals contain no dollar signs. */
function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}

const floorServer = fileURLToPath(new URL('floor-server.ts', import.meta.url));

export const floor = 'bun-floor';

/** Baseline with a minimal server on this runtime: see `floor-server.ts`. */
export function floorContender(folder: string, answers: readonly RecordedAnswer[]): Contender {
  return {
    name: floor,
    title: `Bun ${Bun.version} (same bytes, as many headers read and varied)`,
    role: 'limit',
    runtime: 'bun',
    does: [],
    async start() {
      const port = await freePort();
      const recorded = join(folder, 'answers.json');
      await Bun.write(recorded, JSON.stringify(answers));
      const command = [process.execPath, floorServer, String(port), recorded];
      const server = await startServer(floor, port, { command, probe: addressing.list });
      return { server, addressing };
    },
  };
}
