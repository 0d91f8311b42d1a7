/** Keys are shown once, when they are issued. Afterwards, no part of a key may appear in logs, files or responses. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { AdminServices } from '../../src/app/app.ts';
import { limitFileSize } from '../faults/disk.ts';
import { temporaryFolder } from '../support/folder.ts';
import { ample, operatorOf, startService } from '../support/process.ts';
import { same } from './failures.ts';
import { Chance } from './generate/chance.ts';
import { bytesOf, type HttpRequest } from './generate/http.ts';
import type { StressOptions, StressTest } from './stress-test.ts';
import { Wires } from './wire.ts';

const connections = 32;
const keysOnFullDisk = 20;
/** Length of the key fragments to search for. The probability that a fragment occurs by chance is negligible. */
const pieceLength = 10;

/** Finds fragments of keys in texts, both in plain text and in base64. */
class Searcher {
  readonly #pieces = new Set<string>();
  searched = 0;

  add(key: string): void {
    // The prefix and the last four characters may be shown (contract, section 5).
    const secret = key.slice('ask_'.length, -4);
    for (let at = 0; at + pieceLength <= secret.length; at++)
      this.#pieces.add(secret.slice(at, at + pieceLength));
    for (const lead of ['', 'x', 'xx']) {
      const encoded = Buffer.from(lead + secret).toString('base64url');
      for (let at = 4; at + pieceLength <= encoded.length - 4; at++)
        this.#pieces.add(encoded.slice(at, at + pieceLength));
    }
  }

  /** Throws if the text contains a fragment of a key. */
  search(where: string, text: string): void {
    this.searched += text.length;
    for (const [run] of text.matchAll(/[0-9A-Za-z_-]{10,}/g)) {
      for (let at = 0; at + pieceLength <= run.length; at++) {
        if (this.#pieces.has(run.slice(at, at + pieceLength)))
          throw new Error(`${where} contains a part of a key: ${run}`);
      }
    }
  }
}

/** Issues keys, and expires, revokes or rotates some of them. */
async function issue(operator: AdminServices, count: number, seed: number): Promise<string[]> {
  const { id } = await operator.accounts.create('shop', 'enterprise', ample);
  const keys: string[] = [];
  for (let index = 0; index < count; index++) {
    const chance = new Chance(seed, index);
    const issued = await operator.keys.create(id, `key ${index}`, chance.often(0.1) ? -1 : undefined);
    keys.push(issued.key);
    const fate = chance.int(1, 10);
    if (fate === 1) await operator.keys.revoke(issued.id);
    if (fate === 2) keys.push((await operator.keys.rotate(issued.id, 0)).key);
  }
  return keys;
}

/** Requests that contain the key wherever clients may put it, correctly or by mistake. */
function requestsWith(key: string, chance: Chance): HttpRequest[] {
  const bearer: HttpRequest['headers'] = [['Authorization', `Bearer ${key}`]];
  const json: HttpRequest['headers'] = [...bearer, ['Content-Type', 'application/json']];
  const get = (target: string, headers = bearer): HttpRequest => ({ method: 'GET', target, headers });
  const post = (body: string, headers = json): HttpRequest => ({
    method: 'POST',
    target: '/pets',
    headers,
    body: Buffer.from(body),
  });
  return chance.shuffled([
    get('/pets?limit=3'),
    get('/pets/1'),
    get('/pets', [['Authorization', key]]),
    get('/pets', [['Authorization', `Basic ${btoa(`${key}:`)}`]]),
    get('/pets', [['Authorization', `Bearer ${key} ${key}`]]),
    get('/pets', [['Authorization', `Bearer ${key.slice(0, -1)}_`]]),
    get(`/pets?api_key=${key}&cursor=${key}`),
    get('/pets', [['X-Api-Key', key]]),
    get('/pets', [['Cookie', `key=${key}`]]),
    get('/pets', [...bearer, ['X-Request-Id', `${key}!`]]),
    get(`/pets/${key}`),
    get(`/${key}`),
    get('/pets?limit=0', [...bearer, ['Referer', `https://a.example/?key=${key}`]]),
    post('{"name":"Ozzy","categoryId":1}'),
    post('{'),
    post('{"name":"","categoryId":1.5}'),
    post(`{"name":"Ozzy","categoryId":"${key}"}`),
    post(key),
    post('x'.repeat(20_000)),
    post('{}', [...bearer, ['Content-Type', 'text/plain']]),
    { method: 'DELETE', target: '/pets', headers: bearer },
  ]);
}

/** `rounds` is the number of keys. */
export async function noKeyAnywhere({ rounds, seed, progress }: StressOptions) {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path, {
    LOG_LEVEL: 'trace',
    LOG_REQUESTS: 'all',
    DRAIN_SECONDS: '0',
  });
  await using operator = await operatorOf(folder.path);
  const keys = await issue(operator, rounds, seed);
  const searcher = new Searcher();
  for (const key of keys) searcher.add(key);
  let answers = 0;
  {
    using wires = new Wires(service.url, connections);
    const send = (count: number) =>
      wires.each(count, async (wire, index) => {
        if (index % 50 === 0) progress(`${index} of ${count} keys`);
        for (const request of requestsWith(keys[index] as string, new Chance(seed, index))) {
          const { headers, text } = await wire.send(bytesOf(request));
          const answer = `${[...headers].join('\n')}\n${text}`;
          searcher.search(`the response to ${request.method} ${request.target}`, answer);
          answers++;
        }
      });
    await send(keys.length);
    // Also simulates a full disk, which causes other responses and log lines.
    limitFileSize(service.pid, 0);
    await send(Math.min(keys.length, keysOnFullDisk));
    limitFileSize(service.pid, 'unlimited');
  }
  await searchFiles(searcher, folder.path);
  service.signal('SIGTERM');
  await service.exited;
  await searchFiles(searcher, folder.path);
  searcher.search('standard output', service.stdout());
  searcher.search('standard error', service.stderr());
  checkLog(service.stderr());
  return {
    keys: keys.length,
    answers,
    'megabytes searched': Number((searcher.searched / 1e6).toFixed(1)),
    found: 0,
  };
}

/** Throws unless every line is an object with level, time and message, and rejected requests are logged. */
function checkLog(text: string): void {
  for (const line of text.trimEnd().split('\n')) {
    const { level, time, msg } = JSON.parse(line);
    if (typeof level !== 'number' || typeof time !== 'string' || typeof msg !== 'string')
      throw new Error(`This is not a log line: ${line}`);
  }
  same('whether rejections are logged', text.includes('request refused'), true);
}

async function searchFiles(searcher: Searcher, folder: string): Promise<void> {
  for (const name of readdirSync(folder)) {
    searcher.search(name, Buffer.from(await Bun.file(join(folder, name)).arrayBuffer()).toString('latin1'));
  }
}

export const secrets: StressTest = {
  name: 'secrets',
  promise:
    'no part of an issued key appears in a log, a data file or a response, wherever clients put the key in their requests',
  rounds: 1_000,
  run: noKeyAnywhere,
};
