/** int64 through every door: create, get, list, export, import. Not one digit may change. */
import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { temporaryFolder } from '../support/folder.ts';
import { dataFileIn, root, settingsIn } from '../support/process.ts';
import { Failures, same } from './failures.ts';
import { Chance } from './generate/chance.ts';
import { bytesOf, type HttpRequest } from './generate/http.ts';
import { anyInt64, spelled } from './generate/integers.ts';
import { type ProvingService, provingService } from './service.ts';
import type { StressOptions, StressTest } from './stress-test.ts';
import { overWires, Wire } from './wire.ts';

const connections = 64;
/** Ids start here, where JavaScript's numbers have lost the odd ones. */
const idsFrom = 2n ** 53n;

/** What an animal has to read, once its id is known. */
const petText = (id: string, categoryId: bigint) =>
  `{"id":${id},"name":"n","categoryId":${categoryId},"status":"available"}`;

class Run {
  readonly #service: ProvingService;
  readonly #seed: number;
  readonly #rounds: number;
  readonly failures: Failures;
  /** The category of every animal by its id, both as text or exact. */
  readonly categories = new Map<string, bigint>();

  constructor(service: ProvingService, { seed, rounds }: StressOptions) {
    this.#service = service;
    this.#seed = seed;
    this.#rounds = rounds;
    this.failures = new Failures(seed);
  }

  #request(method: string, target: string, body?: string): Uint8Array {
    const headers: HttpRequest['headers'] = [['Authorization', `Bearer ${this.#service.key}`]];
    if (body === undefined) return bytesOf({ method, target, headers });
    const typed = [...headers, ['Content-Type', 'application/json'] as const];
    return bytesOf({ method, target, headers: typed, body: Buffer.from(body) });
  }

  async create(): Promise<void> {
    await overWires(this.#service.url, connections, this.#rounds, (wire, index) =>
      this.failures.guard(index, async () => {
        const chance = new Chance(this.#seed, index);
        const categoryId = anyInt64(chance);
        const body = `{"name":"n","categoryId":${spelled(categoryId, chance)}}`;
        const { text } = await wire.send(this.#request('POST', '/pets', body));
        const id = /^\{"id":(\d+),/.exec(text)?.[1] ?? '';
        same('the new animal', text, petText(id, categoryId));
        this.categories.set(id, categoryId);
      }),
    );
  }

  async get(): Promise<void> {
    const all = [...this.categories];
    await overWires(this.#service.url, connections, all.length, (wire, index) =>
      this.failures.guard(`get ${index}`, async () => {
        const [id, categoryId] = all[index] as [string, bigint];
        const { text } = await wire.send(this.#request('GET', `/pets/${id}`));
        same(`animal ${id}`, text, petText(id, categoryId));
      }),
    );
  }

  async list(): Promise<void> {
    using wire = new Wire(this.#service.url);
    const found: string[] = [];
    for (let target: string | undefined = '/pets?limit=100'; target !== undefined; ) {
      const { text, headers } = await wire.send(this.#request('GET', target));
      found.push(...(text.match(/\{[^}]*\}/g) ?? []));
      target = /<\/v1([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
    }
    this.compare('the list', found);
  }

  compare(where: string, found: readonly string[]): void {
    const expected = [...this.categories].sort(([a], [b]) => (BigInt(a) < BigInt(b) ? -1 : 1));
    same(`the number of animals in ${where}`, found.length, expected.length);
    for (const [index, [id, categoryId]] of expected.entries()) {
      if (found[index] !== petText(id, categoryId))
        this.failures.add(`${where} ${index}`, `${found[index]} for ${id}`);
    }
  }

  /** Exports, imports into an empty store, and exports that: every category in its order. */
  async throughFiles(format: 'csv' | 'ndjson'): Promise<void> {
    await using other = await temporaryFolder();
    const [first, second] = [join(other.path, `a.${format}`), join(other.path, `b.${format}`)];
    await command(this.#service.folder, 'export', first);
    await command(other.path, 'import', first);
    await command(other.path, 'export', second);
    const pattern =
      format === 'csv'
        ? /^n,(-?\d+),available$/
        : /^\{"name":"n","categoryId":(-?\d+),"status":"available"\}$/;
    const expected = [...this.categories].sort(([a], [b]) => (BigInt(a) < BigInt(b) ? -1 : 1));
    for (const file of [first, second]) {
      const rows = (await Bun.file(file).text())
        .trim()
        .split(/\r?\n/)
        .slice(format === 'csv' ? 1 : 0);
      same(`rows of ${format}`, rows.length, expected.length);
      for (const [index, [, categoryId]] of expected.entries()) {
        if (pattern.exec(rows[index] ?? '')?.[1] !== String(categoryId)) {
          this.failures.add(`${format} ${index}`, `${rows[index]} for ${categoryId}`);
        }
      }
    }
  }
}

async function command(folder: string, ...words: string[]): Promise<void> {
  const child = Bun.spawn([process.execPath, 'src/main.ts', ...words], {
    cwd: root,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...settingsIn(folder) },
    stdout: 'ignore',
    stderr: 'pipe',
  });
  if ((await child.exited) !== 0) throw new Error(`${words.join(' ')} failed: ${await child.stderr.text()}`);
}

/** AUTOINCREMENT goes on behind its last id; nothing is stored under it. */
function liftIds(folder: string): void {
  using database = new Database(dataFileIn(folder));
  database.run(`INSERT INTO sqlite_sequence (name, seq) VALUES ('pets', ${idsFrom})`);
}

export async function int64Everywhere(options: StressOptions) {
  await using service = await provingService();
  liftIds(service.folder);
  const run = new Run(service, options);
  const steps = {
    create: () => run.create(),
    get: () => run.get(),
    list: () => run.list(),
    csv: () => run.throughFiles('csv'),
    ndjson: () => run.throughFiles('ndjson'),
  };
  for (const [step, perform] of Object.entries(steps)) {
    options.progress(`${options.rounds} values: ${step}`);
    await perform();
  }
  service.checkRunning();
  run.failures.end();
  const ids = [...run.categories.keys()].map(BigInt);
  if (!ids.every((id) => id > idsFrom)) throw new Error(`ids do not go on behind ${idsFrom}`);
  return { values: ids.length, 'first id': String(idsFrom + 1n), 'digits changed': 0 };
}

export const int64: StressTest = {
  name: 'int64',
  promise:
    'every int64, as categoryId and as id beyond 2^53, comes back digit for digit from create, get, list, export and import',
  rounds: 100_000,
  run: int64Everywhere,
};
