/** The layers in ARCHITECTURE.md: which module may import which other module. */
import { describe, expect, test } from 'bun:test';
import { bare, codeIn, importsOf, linesMatching, projectFiles, refuse, type Source } from './sources.ts';

const files = projectFiles();
const sources = codeIn(files, 'src', 'sandbox');
/** Code for browsers, which may import only a few modules of the service. */
const pages = codeIn(files, 'console');
/** Code of the client package. */
const client = codeIn(files, 'client');

/**
 * The modules that each module may import: folders or files in src or in the root. With `type:`, only types may be
 * imported.
 */
const allowed: Readonly<Record<string, readonly string[]>> = {
  main: ['cli', 'sandbox/command'],
  cli: [
    'app',
    'supervisor/link',
    'supervisor/task-link',
    'operations',
    'domain',
    'contract',
    'config',
    'package.json',
  ],
  app: [
    'config',
    'storage',
    'limits',
    'backup',
    'store-files',
    'outages',
    'operations',
    'http',
    'supervisor',
    'webhooks',
    'domain',
    'contract',
    'package.json',
  ],
  sandbox: [
    'cli',
    'app',
    'config',
    'http',
    'operations',
    'storage',
    'limits',
    'store-files',
    'type:webhooks/attempt',
    'domain',
    'contract',
  ],
  supervisor: ['type:storage/storage'],
  http: ['operations', 'limits/limit', 'domain', 'contract', 'assets', 'docs', 'client/README.md'],
  operations: [
    'domain',
    'contract',
    'tables',
    'type:storage/storage',
    'type:storage/transaction',
    'type:storage/admin',
    'limits/limit',
    'limits/ban-status',
    'type:limits/limit-store',
    'type:backup',
  ],
  backup: [
    'type:storage/storage',
    'storage/sqlite',
    'limits/file/layout',
    'limits/file/served-files',
    'store-files',
    'tables',
    'domain',
  ],
  storage: [
    'store-files',
    'outages',
    'tables',
    'type:limits/snapshots',
    'type:limits/redis-readings',
    'type:limits/limit',
    'domain',
    'type:contract',
    'contract/api-error',
    'contract/representations',
  ],
  limits: ['store-files', 'outages', 'domain'],
  'store-files': ['outages'],
  outages: ['contract/api-error', 'domain'],
  tables: ['domain', 'type:contract'],
  webhooks: ['domain', 'type:contract', 'package.json'],
  domain: [],
  config: ['limits/limit', 'domain', 'contract'],
  contract: ['domain'],
  console: [
    'type:contract',
    'type:domain',
    'domain/event-type',
    'domain/order-status',
    'domain/pet-status',
    'domain/plan',
    'domain/escape-unprintable',
    'domain/role',
    'domain/scope',
    'domain/format-fact',
  ],
};

/** The module to which a file belongs: a folder in src or in the root, or a single file. */
function partOf(path: string): string {
  return /^(?:src\/([\w-]+)|(sandbox|console|client)\/)/.exec(path)?.slice(1).find(Boolean) ?? path;
}

function mayImport(path: string, { target, isType }: { target: string; isType: boolean }): boolean {
  const part = partOf(path);
  if (partOf(target) === part) return true;
  return (allowed[part] ?? []).some((rule) => {
    const [, typesOnly, name = ''] = /^(type:)?(.*)$/.exec(rule) ?? [];
    if (typesOnly !== undefined && !isType) return false;
    return target
      .replace(/^src\//, '')
      .replace(/\.ts$/, '')
      .concat('/')
      .startsWith(`${name}/`);
  });
}

const isLocal = (target: string) => /^(?:src\/|sandbox\/|assets\/|contract\/|[\w-]+\.json$)/.test(target);

describe('imports', () => {
  test('go in one direction: main → cli → app → http → operations → contract → domain', () => {
    const wrong = [...sources, ...pages].flatMap((source) =>
      importsOf(source)
        .filter(({ target }) => isLocal(target))
        .filter((imported) => !mayImport(source.path, imported))
        .map(({ target }) => `${source.path} imports ${target}`),
    );
    refuse(
      'Move the needed code into the layer below, or pass it as an argument from app/, the only module that ' +
        'knows all other modules. ARCHITECTURE.md and this test define what a layer may import:',
      wrong,
    );
  });

  test('refer to every module at least once', () => {
    const seen = new Set(sources.flatMap((source) => importsOf(source).map(({ target }) => partOf(target))));
    for (const part of [
      'app',
      'cli',
      'http',
      'supervisor',
      'operations',
      'storage',
      'webhooks',
      'domain',
      'contract',
      'config',
    ]) {
      expect(seen).toContain(part);
    }
  });

  test('in the code of one engine never refer to another engine', () => {
    const store = (path: string) => /^src\/(?:storage|limits)\/(\w+)\//.exec(path)?.[1];
    const wrong = sources.flatMap((source) =>
      importsOf(source)
        .filter(({ target }) => store(source.path) !== undefined && store(target) !== undefined)
        .filter(({ target }) => ![store(source.path), 'queries', 'schema'].includes(store(target)))
        .map(({ target }) => `${source.path} imports ${target}`),
    );
    refuse('Put shared code directly into src/storage/ or src/limits/, or into src/storage/queries/:', wrong);
  });

  test('in the client package stay within that package', () => {
    // The test helper starts a process, so it runs only in Node.js, Bun and Deno. The main entry never imports this
    // helper.
    const isHelper = (path: string) => path === 'client/src/sandbox.ts';
    const wrong = client.flatMap((source) =>
      importsOf(source)
        .filter(({ target }) => !target.startsWith('client/src/') || isHelper(target))
        .filter(({ target }) => !(isHelper(source.path) && target === 'node:child_process'))
        .map(({ target }) => `${source.path} imports ${target}`),
    );
    refuse('client/ is installed alone. Add a small version of the needed code to client/:', wrong);
    expect(client.flatMap(importsOf).length).toBeGreaterThan(client.length);
  });

  test('of the writer thread include no schemas, which would delay each start', () => {
    // Type-only imports are not loaded.
    const imports = new Map(
      sources.map((source) => [source.path, importsOf(source).filter(({ isType }) => !isType)] as const),
    );
    const loaded = new Set(['src/app/writer-thread.ts']);
    for (const path of loaded) for (const { target } of imports.get(path) ?? []) loaded.add(target);
    expect(loaded).toContain('src/operations/units.ts');
    expect(loaded).not.toContain('zod');
  });

  test('form no cycles between files, even through type-only imports', () => {
    const graph = graphOf(
      [...sources, ...pages, ...client, ...codeIn(files, 'bench', 'scripts')],
      (path) => path,
    );
    const cycles = cyclesIn(graph).map((cycle) => cycle.join(', '));
    const advice =
      'Move the code that these files need from each other into a file that imports none of them:';
    refuse(advice, cycles);
  });

  test('form no cycles between modules, even through type-only imports', () => {
    const cycles = cyclesIn(graphOf([...sources, ...pages, ...client], partOf));
    refuse(
      'Remove one of these dependencies:',
      cycles.map((cycle) => cycle.join(', ')),
    );
  });
});

/** Imports of each node. A node is a file or a module. */
function graphOf(code: readonly Source[], nodeOf: (path: string) => string): Map<string, Set<string>> {
  const nodes = new Set(code.map(({ path }) => nodeOf(path)));
  const graph = new Map([...nodes].map((node) => [node, new Set<string>()]));
  for (const source of code) {
    const from = nodeOf(source.path);
    for (const target of importsOf(source).map(({ target }) => nodeOf(target)))
      if (nodes.has(target) && (target !== from || target === source.path)) graph.get(from)?.add(target);
  }
  return graph;
}

/** The cycles: groups of nodes that can all reach each other. */
function cyclesIn(graph: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const reachedFrom = (start: string) => {
    const reached = new Set<string>();
    const open = [start];
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      for (const next of graph.get(node) ?? []) if (!reached.has(next)) open.push(next);
      for (const next of graph.get(node) ?? []) reached.add(next);
    }
    return reached;
  };
  const reached = new Map([...graph.keys()].map((node) => [node, reachedFrom(node)]));
  const reaches = (from: string, to: string) => reached.get(from)?.has(to) === true;
  const cyclic = [...graph.keys()].filter((node) => reaches(node, node));
  const groups = Map.groupBy(cyclic, (node) =>
    cyclic.find((other) => reaches(node, other) && reaches(other, node)),
  );
  return [...groups.values()];
}

describe('restricted code', () => {
  /** Lines whose code matches `pattern`, except in files that match `place`. */
  function elsewhere(place: RegExp, pattern: RegExp): string[] {
    return sources
      .filter(({ path }) => !place.test(path))
      .flatMap(({ path, text }) => linesMatching(path, bare(text), pattern));
  }

  test('database drivers are used only in the folders of stores', () => {
    const stores = /^src\/(?:storage|backup|store-files|limits\/redis)\//;
    const drivers = /^(?:bun:sqlite|node:sqlite|pg|postgres|redis|ioredis|better-sqlite3)$/;
    const wrong = sources
      // Resetting a sandbox bypasses the rules of the store.
      .filter(({ path }) => !stores.test(path) && path !== 'sandbox/store.ts')
      .filter((source) => importsOf(source).some(({ target }) => drivers.test(target)))
      .map(({ path }) => path);
    refuse('Use the interfaces of the stores instead:', [
      ...wrong,
      ...elsewhere(stores, /\bBun\.(?:sql|SQL|redis|RedisClient)\b|\b(?:SQL|RedisClient)\b/),
    ]);
  });

  test('the HTTP server is used only in src/http', () => {
    refuse(
      'Only src/http/server.ts listens:',
      elsewhere(/^src\/http\//, /\bBun\.(?:serve|listen)\b|\bcreateServer\b/),
    );
  });

  test('environment variables are read only in src/config.ts, which receives them from src/main.ts', () => {
    const wrong = elsewhere(/^src\/(?:config|main)\.ts$/, /\b(?:process|Bun|import\.meta)\.env\b/);
    refuse('Add a setting to the table in src/config/settings.ts and read it from the Config:', wrong);
  });

  test('only src/main.ts and src/cli exit the process', () => {
    refuse(
      'Throw an error, and let the command line decide:',
      elsewhere(/^src\/(?:main\.ts|cli\/)/, /\bprocess\.exit/),
    );
  });

  test('processes are started only in src/supervisor', () => {
    refuse(
      'Only src/supervisor/worker-process.ts starts processes:',
      elsewhere(/^src\/supervisor\//, /\bBun\.spawn\b|\bprocess\.send\b/),
    );
  });

  test('the clock and randomness are created in src/app/ and passed down as arguments', () => {
    const pattern = /\bDate\.now\b|\bMath\.random\b|\bcrypto\.|\bgetRandomValues\b|\brandomUUID\b/;
    const wrong = elsewhere(/^src\/(?:app\/\w+|domain\/clock|cli\/\w+)(?:\.ts)/, pattern);
    const importers = sources
      .filter(({ path }) => !/^src\/(?:app|cli)\//.test(path))
      .flatMap(({ path, text }) =>
        linesMatching(path, text, /\{[^}]*\brandom\w+[^}]*\} from '(?:node:)?crypto'/),
      );
    refuse('Accept a Clock or RandomBytes as an argument, so that tests need not wait or guess:', [
      ...wrong,
      ...importers,
    ]);
  });
});
