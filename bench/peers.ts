/** The peers (other frameworks), their start commands and their features. */
import { copyFileSync, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Addressing, Contender } from './contender.ts';
import type { Feature } from './features.ts';
import type { PeerData } from './peer-data.ts';
import { freePort, startServer } from './server-process.ts';
import { listTarget, pageTarget } from './service.ts';

const peersFolder = fileURLToPath(new URL('peers', import.meta.url));
const contract = fileURLToPath(new URL('../contract/openapi.json', import.meta.url));

interface Peer {
  readonly name: string;
  readonly title: string;
  /** Package whose version is shown. */
  readonly package: string;
  readonly runtime: 'bun' | 'node';
  readonly does: readonly Feature[];
  command(port: number, data: PeerData): string[] | Promise<string[]>;
  readonly address: (data: PeerData) => Addressing;
}

const usual: readonly Feature[] = [
  'key lookup',
  'limit per minute',
  'body validation',
  'query validation',
  'durable POST',
];

function sameAddresses({ keys }: PeerData): Addressing {
  return {
    list: { target: listTarget, key: keys.unlimited },
    page: (minId, isAvailable) => ({ target: pageTarget(minId, isAvailable), key: keys.unlimited }),
    pet: (id) => ({ target: `/v1/pets/${id}`, key: keys.unlimited }),
    create: { target: '/v1/pets', key: keys.unlimited },
    refused: () => ({ target: listTarget, key: keys.exhausted }),
  };
}

/** Returns a peer that runs a program from the `peers` folder on a separate SQLite file. */
function onSqlite(name: string, title: string, runtime: 'bun' | 'node'): Peer {
  return {
    name,
    title,
    package: name,
    runtime,
    does: usual,
    address: sameAddresses,
    command: (port, data) => {
      const runtimePath = runtime === 'node' ? 'node' : process.execPath;
      return [runtimePath, `${name}.js`, String(port), ownDatabase(name, data)];
    },
  };
}

const peers: readonly Peer[] = [
  onSqlite('fastify', 'Fastify', 'node'),
  { ...onSqlite('express', 'Express', 'node'), does: [...usual, 'X-RateLimit and RateLimit headers'] },
  {
    ...onSqlite('nest', 'NestJS', 'node'),
    package: '@nestjs/core',
    command: async (port, data) => ['node', await builtNest(), String(port), ownDatabase('nest', data)],
  },
  onSqlite('hono', 'Hono', 'bun'),
  onSqlite('elysia', 'Elysia', 'bun'),
  {
    name: 'json-server',
    title: 'json-server',
    package: 'json-server',
    runtime: 'node',
    // json-server rewrites the whole file on each POST, without syncing it.
    does: ['key lookup', 'limit per minute', 'X-RateLimit and RateLimit headers', 'body validation'],
    command: (port, { json, callers }) => ['node', 'json-server.js', String(port), json, callers],
    address: (data) => {
      const list = { target: '/v1/pets?_limit=20&status=available', key: data.keys.unlimited };
      const { page: _, ...addresses } = sameAddresses(data);
      return { ...addresses, list, refused: () => ({ ...list, key: data.keys.exhausted }) };
    },
  },
  {
    name: 'prism',
    title: 'Prism mock',
    package: '@stoplight/prism-cli',
    runtime: 'node',
    // Prism has no store, responds with the examples of the OpenAPI document, and accepts any bearer token.
    does: ['body validation', 'query validation'],
    command: (port) => [
      'node',
      join('node_modules', '@stoplight', 'prism-cli', 'dist', 'index.js'),
      ...['mock', '--host', '127.0.0.1', '--port', String(port), '--multiprocess', 'false'],
      ...['--verboseLevel', 'silent', contract],
    ],
    // Prism serves the paths of the document without the version prefix from `servers`.
    address: ({ keys: { unlimited: key } }) => ({
      list: { target: '/pets?limit=20&status=available', key },
      pet: (id) => ({ target: `/pets/${id}`, key }),
      create: { target: '/pets', key },
    }),
  },
];

export const peerNames: readonly string[] = peers.map(({ name }) => name);

/** Installs the peers, unless the packages in the lock file are already installed. */
export function installPeers(): void {
  const [lock, installed] = ['package-lock.json', 'node_modules/.package-lock.json'].map((name) =>
    join(peersFolder, name),
  ) as [string, string];
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return;
  const { exitCode } = Bun.spawnSync(['npm', 'ci'], {
    cwd: peersFolder,
    stdout: 'inherit',
    stderr: 'inherit',
  });
  if (exitCode !== 0) throw new Error('The peers could not be installed: npm ci in bench/peers failed.');
}

export function createPeerContender(name: string, data: PeerData): Contender {
  const peer = peers.find((known) => known.name === name);
  if (peer === undefined) throw new Error(`There is no peer "${name}".`);
  const { title, runtime, does } = peer;
  return {
    name,
    title: `${title} ${versionOfPackage(peer.package)}`,
    role: 'peer',
    runtime,
    does,
    async start() {
      const port = await freePort();
      const addressing = peer.address(data);
      const command = await peer.command(port, data);
      const server = await startServer(name, port, { command, folder: peersFolder, probe: addressing.list });
      return { server, addressing };
    },
  };
}

function versionOfPackage(name: string): string {
  const path = join(peersFolder, 'node_modules', name, 'package.json');
  return (require(path) as { version: string }).version;
}

function ownDatabase(name: string, { folder, database }: PeerData): string {
  const path = join(folder, `${name}.db`);
  copyFileSync(database, path);
  return path;
}

/** Builds the NestJS program. Node.js cannot run TypeScript with decorators directly. */
async function builtNest(): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [join(peersFolder, 'nest.ts')],
    outdir: join(peersFolder, 'node_modules', '.cache'),
    target: 'node',
    packages: 'external',
  });
  return outputs[0]?.path ?? '';
}
